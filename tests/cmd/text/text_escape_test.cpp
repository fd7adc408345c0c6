#include "text/text_escape.hpp"

#include <doctest/doctest.h>

#include "leaf/detail/utf8.hpp"

using namespace leafctl;

TEST_CASE("text escape: UTF-8 is told from what is none") {
  for (const char* text : {"", "a", "größe", "\xF0\x9F\x8D\x83"}) CHECK(leaf::detail::is_utf8(text));
  for (const char* text : {"\xFF",
                           "gr\xF6\xDF"
                           "e",
                           "\xC0\x80", "\xED\xA0\x80", "a\xE2\x82"}) {
    CAPTURE(text);
    CHECK_FALSE(leaf::detail::is_utf8(text));
  }
}

TEST_CASE("escape: plain text and valid UTF-8 reach the terminal unchanged") {
  for (const char* text : {"", "order", "a 'quoted' word", "größe", "注文", "🙂", "\xEF\xBF\xBD"}) {
    CHECK(escape_for_terminal(text) == text);
  }
}

TEST_CASE("escape: nothing that moves the cursor reaches the terminal") {
  CHECK(escape_for_terminal("a\nb\tc\rd") == "a\\nb\\tc\\x0dd");
  CHECK(escape_for_terminal("\033[2J\x7f\b") == "\\x1b[2J\\x7f\\x08");
  CHECK(escape_for_terminal("\xC2\x9B"
                            "2J") == "\\xc2\\x9b2J");
  CHECK(escape_for_terminal(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("escape: nothing that turns the direction of a text reaches a terminal") {
  CHECK(escape_for_terminal("a\u202Eb") == "a\\xe2\\x80\\xaeb");
  int escaped = 0;
  for (unsigned code = 0x80; code < 0x3000; ++code) {
    const std::string text =
        code < 0x800
            ? std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))}
            : std::string{static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                          static_cast<char>(0x80 | (code & 0x3F))};
    const bool turns = code == 0x61C || code == 0x200E || code == 0x200F ||
                       (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    CAPTURE(code);
    CHECK((escape_for_terminal(text) != text) == (turns || code < 0xA0));
    CHECK((escape_controls_in_json(text) != text) == (turns || code < 0xA0));
    escaped += turns;
  }
  CHECK(escaped == 14);
  CHECK(escape_controls_in_json("\"\u202E\u061C\"") == "\"\\u202e\\u061c\"");
}

TEST_CASE("escape: bytes that are no UTF-8 are shown in hexadecimal") {
  CHECK(escape_for_terminal("\x9B"
                            "2J") == "\\x9b2J");
  CHECK(escape_for_terminal("a\xFF"
                            "b") == "a\\xffb");
  CHECK(escape_for_terminal("\xC3") == "\\xc3");
  CHECK(escape_for_terminal("\xC0\xAF") == "\\xc0\\xaf");           // overlong
  CHECK(escape_for_terminal("\xE0\x80\xAF") == "\\xe0\\x80\\xaf");  // overlong
  CHECK(escape_for_terminal("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(escape_for_terminal("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}

TEST_CASE("escape: a field of a tab-separated line holds neither tab nor newline and can be read back") {
  CHECK(escape_for_tsv("a\tb\nc\rd\\e") == "a\\tb\\nc\\rd\\\\e");
  CHECK(escape_for_tsv("größe \033") == "größe \033");
}

TEST_CASE("escape: JSON keeps its text but no control character") {
  CHECK(escape_controls_in_json("{\"a\":\"\x7f\xC2\x9Bü\"}") == "{\"a\":\"\\u007f\\u009bü\"}");
}

TEST_CASE("escape: characters are counted, not bytes") {
  CHECK(count_characters("größe") == 5);
  CHECK(count_characters("") == 0);
}
