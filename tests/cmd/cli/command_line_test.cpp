#include "cli/command_line.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "commands.hpp"
#include "leaf/error.hpp"

using leafctl::CommandLine;
using leafctl::commands;
using leafctl::find_setting;

namespace {

using Words = std::vector<std::string>;

/// The error's text and, after a line break, its hint; every one has to be a usage error.
std::string error_of(const Words& words) {
  try {
    CommandLine(commands()).parse(words);
  } catch (const leaf::Error& error) {
    CHECK(error.code() == leaf::ErrorCode::usage);
    return error.what() + (error.hint().empty() ? "" : "\n" + error.hint());
  }
  return "no error";
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

TEST_CASE("command line: a mistyped command, verb or option is named, with the nearest one") {
  CHECK(error_of({"nxt", "order"}) == "unknown command 'nxt'\ndid you mean 'next'?");
  CHECK(error_of({"tags", "lst"}) == "unknown command 'tags lst'\ndid you mean 'tags list'?");
  CHECK(error_of({"next", "order", "--ragnes"}) == "unknown option '--ragnes'\ndid you mean '--ranges'?");
  CHECK(error_of({"next", "order", "--cuont=5"}) == "unknown option '--cuont'\ndid you mean '--count'?");
  CHECK(error_of({"--sotre", "x", "next", "order"}) == "unknown option '--sotre'\ndid you mean '--store'?");
  CHECK(error_of({"frobnicate"}) == "unknown command 'frobnicate'\nsee 'leafctl --help'");
  CHECK(error_of({"next", "order", "-x"}) == "unknown option '-x'\nsee 'leafctl next --help'");
}

TEST_CASE("command line: a command that has another name here is named by its meaning") {
  const std::pair<std::string, std::string> meant[] = {
      {"tags rm x", "tags remove"},   {"tags add x", "add-tag"},
      {"tags delete", "tags remove"}, {"version", "--version"},
      {"list", "tags list"},          {"workers rm 3", "workers recycle"},
      {"lst", "tags list"},           {"remvoe x", "tags remove"},
      {"remove x", "tags remove"},    {"workers free", "workers release' or 'workers recycle"},
  };
  for (const auto& pair : meant) {
    CAPTURE(pair.first);
    CHECK(error_of(words_of(pair.first)).ends_with("\ndid you mean '" + pair.second + "'?"));
  }
}

TEST_CASE("command line: help on a mistyped command is refused, with the nearest one") {
  CHECK(error_of({"nxt", "--help"}) == "unknown command 'nxt'\ndid you mean 'next'?");
  CHECK(error_of({"tags", "lst", "-h"}) == "unknown command 'tags lst'\ndid you mean 'tags list'?");
  CHECK(error_of({"tags", "--help"}) == "no error");
  CHECK(error_of({"next", "order", "--help"}) == "no error");
}

TEST_CASE("command line: an option of a command that is missing is told where it goes") {
  CHECK(error_of({"bench", "--duration", "1s"}) ==
        "option '--duration' needs a command of 'leafctl bench'\nput it after a command, such as 'leafctl "
        "bench "
        "segment'");
  CHECK(error_of({"tags", "--otput", "json"}) == "unknown option '--otput'\ndid you mean '--output'?");
}

TEST_CASE("command line: a mistyped option is named even where an argument is missing too") {
  CHECK(error_of({"next", "--ragnes"}) == "unknown option '--ragnes'\ndid you mean '--ranges'?");
}

TEST_CASE("command line: missing and unexpected arguments are named") {
  CHECK(error_of({"tags", "update"}) == "argument 'TAG' is missing\nsee 'leafctl tags update --help'");
  CHECK(error_of({"tags", "show"}) == "argument 'TAG' is missing\nsee 'leafctl tags show --help'");
  CHECK(error_of({"next", "order", "invoice"}) == "unexpected argument 'invoice'\nsee 'leafctl next --help'");
  CHECK(error_of({"next", "order", "-5"}) == "unexpected argument '-5'\nsee 'leafctl next --help'");
}

TEST_CASE("command line: an option without its value, and a flag with one, are named") {
  CHECK(error_of({"next", "order", "-n"}) == "option '-n' needs a value\nsee 'leafctl next --help'");
  CHECK(error_of({"next", "order", "-qn"}) == "option '-n' needs a value\nsee 'leafctl next --help'");
  CHECK(error_of({"next", "order", "--store"}) ==
        "option '--store' needs a value\nsee 'leafctl next --help'");
  CHECK(error_of({"next", "order", "--ranges=no"}) ==
        "option '--ranges' takes no value\nsee 'leafctl next --help'");
}

TEST_CASE("command line: the flag of a setting may say whether") {
  const auto text_of = [](const std::string& key, const std::vector<std::string>& arguments) {
    CommandLine line(commands());
    static_cast<void>(line.parse(arguments));
    return line.options().values[find_setting(key).value()].value_or("nothing");
  };
  CHECK(text_of("group", {"next", "order"}) == "nothing");
  CHECK(text_of("group", {"next", "order", "--group"}) == "yes");
  for (const char* word : {"yes", "1", "on", "True"}) {
    CHECK(text_of("group", {"next", "order", std::string("--group=") + word}) == "yes");
    CHECK(text_of("host_buffer", {"next", "order", std::string("--no-host-buffer=") + word}) == "no");
  }
  for (const char* word : {"no", "0", "off", "FALSE"}) {
    CHECK(text_of("group", {"next", "order", std::string("--group=") + word}) == "no");
    CHECK(text_of("host_buffer", {"next", "order", std::string("--no-host-buffer=") + word}) == "yes");
  }
  CHECK(text_of("group", {"next", "--group=1", "order", "--group=0"}) == "no");
  CHECK(text_of("group", {"next", "order", "--group=0", "--group"}) == "yes");
  CHECK(error_of({"next", "order", "--group=maybe"}) ==
        "'--group' takes yes, true, on or 1, or else no, false, off or 0, not 'maybe'");
  CHECK(error_of({"next", "order", "--no-host-buffer=never"}) ==
        "'--no-host-buffer' takes yes, true, on or 1, or else no, false, off or 0, not 'never'");
  CHECK(error_of({"next", "order", "--group=no", "-n"}) ==
        "option '-n' needs a value\nsee 'leafctl next --help'");
}

TEST_CASE("command line: a negative or malformed number is told its bounds, however it is written") {
  const std::string bounds = " takes a number from 1 to 9223372036854775806, not ";
  CHECK(error_of({"next", "order", "-n", "-5"}) == "'-n'" + bounds + "'-5'");
  CHECK(error_of({"next", "order", "-n-5"}) == "'-n'" + bounds + "'-5'");
  CHECK(error_of({"next", "order", "--count=-5"}) == "'-n'" + bounds + "'-5'");
  CHECK(error_of({"next", "order", "-n", ""}) == "'-n'" + bounds + "''");
  CHECK(error_of({"next", "order", "--count="}) == "'-n'" + bounds + "''");
  CHECK(error_of({"add-tag", "order", "--step", "0"}) ==
        "'--step' takes a number from 1 to 1000000, not '0'");
  CHECK(error_of({"add-tag", "order", "--step", "1000001"}) ==
        "'--step' takes a number from 1 to 1000000, not '1000001'");
}

TEST_CASE("command line: an empty value does not swallow the next word") {
  CommandLine line(commands());
  line.parse({"--store=", "next", "order"});
  CHECK(line.options().values[0] == "");
}

TEST_CASE("command line: global options work before and after the command, and the last one counts") {
  for (const char* text : {"--store a -q tags list", "tags --store a -q list", "tags list --store a -q",
                           "--store b tags list --store a -q"}) {
    CAPTURE(text);
    CommandLine line(commands());
    CHECK(line.parse(words_of(text)).command != nullptr);
    CHECK(line.options().values[0] == "a");
    CHECK(line.options().quiet);
    CHECK_FALSE(line.options().verbose);
  }
}

TEST_CASE("command line: each setting that is not global has its flag on a command, and on no other") {
  for (const auto& setting : leafctl::all_settings()) {
    if (setting.is_global) continue;
    CAPTURE(setting.key);
    const std::size_t index = leafctl::find_setting(setting.key).value();
    CommandLine line(commands());
    const bool takes_value = setting.flag_stands_for == nullptr;
    std::vector<std::string> words{"next", "--snowflake", setting.long_flag()};
    if (takes_value) words.emplace_back("x");
    line.parse(words);
    CHECK(line.options().values[index] == (takes_value ? "x" : setting.flag_stands_for));
    CHECK(error_of({"tags", "list", setting.long_flag()}).starts_with("unknown option"));
  }
}

TEST_CASE("command line: any number of workers is taken, and what is no number refused") {
  CHECK(error_of({"workers", "recycle"}) == "no error");
  CHECK(error_of({"workers", "recycle", "1", "2", "--force"}) == "no error");
  CHECK(error_of({"workers", "recycle", "1", "x"}) ==
        "'WORKER' takes a number from 0 to 2147483647, not 'x'");
  CHECK(error_of({"workers", "recycle", "-1"}) == "'WORKER' takes a number from 0 to 2147483647, not '-1'");
  CHECK(error_of({"workers", "release", "1", "2"}) ==
        "unexpected argument '2'\nsee 'leafctl workers release --help'");
}

TEST_CASE("command line: an option that comes before its command is told where it goes") {
  CHECK(error_of({"--window", "1s", "next"}) ==
        "option '--window' comes before its command\nput it after 'leafctl next'");
  CHECK(error_of({"--winow", "1s", "next"}) == "unknown option '--winow'\ndid you mean '--window'?");
}

TEST_CASE("command line: a tag may be called like a command") {
  for (const char* tag : {"next", "tags", "list", "help"}) {
    CAPTURE(tag);
    CHECK(error_of({"next", tag}) == "no error");
    CHECK(error_of({"tags", "show", tag}) == "no error");
  }
}

TEST_CASE("command line: without a command the reader is shown which there are") {
  for (const Words& words : {Words{}, Words{"tags"}, Words{"-q"}}) {
    const auto request = CommandLine(commands()).parse(words);
    CHECK(request.command == nullptr);
    CHECK(request.incomplete);
    CHECK(request.text.find("Commands:") != std::string::npos);
    const std::string_view own = words.size() == 1 && words.front() == "tags" ? "tags COMMAND " : "";
    CHECK(request.text.ends_with(fmt::format("See 'leafctl {}--help' for options and examples.\n", own)));
  }
}

TEST_CASE("command line: every command's help is the same from help and --help, and fits 80 columns") {
  for (const auto& entry : commands()) {
    CAPTURE(entry.name);
    Words words = words_of(entry.name);
    const std::string help = CommandLine(commands()).help(words);
    words.push_back("--help");
    CHECK(CommandLine(commands()).parse(words).text == help);
    CHECK(help.starts_with("Usage: leafctl " + std::string(entry.name) + " "));
    CHECK(help.find("Global options:") != std::string::npos);
    if (entry.make != nullptr) CHECK(help.find("Example") != std::string::npos);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK(!line.ends_with(' '));
    }
  }
}

TEST_CASE("command line: every command's help fits a narrow terminal, and says the same there") {
  const auto without_layout = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  for (const std::size_t width : {20U, 40U, 59U, 60U, 72U}) {
    for (const auto& entry : commands()) {
      CAPTURE(width);
      CAPTURE(entry.name);
      const Words words = words_of(entry.name);
      const std::string help = CommandLine(commands(), width).help(words);
      std::istringstream lines(help);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() <= width);
        CHECK(!line.ends_with(' '));
      }
      CHECK(without_layout(help) == without_layout(CommandLine(commands()).help(words)));
    }
    for (const Words& words : {Words{}, Words{"tags"}}) {
      std::istringstream lines(CommandLine(commands(), 80, width).parse(words).text);
      for (std::string line; std::getline(lines, line);) CHECK(line.size() <= width);
    }
  }
}

TEST_CASE(
    "command line: every command but hidden ones is listed in the help, and each group before its members") {
  const std::string help = CommandLine(commands()).help({});
  for (const auto& entry : commands()) {
    const Words words = words_of(entry.name);
    const std::string group_help = words.size() == 1 ? help : CommandLine(commands()).help({words.front()});
    const bool listed = group_help.find("\n  " + words.back() + " ") != std::string::npos;
    CHECK(listed != entry.hidden);
  }
}

TEST_CASE("command line: help on what is no command says so") {
  CHECK_THROWS_WITH_AS(CommandLine(commands()).help({"tags", "shwo"}), "unknown command 'tags shwo'",
                       leaf::Error);
  CHECK_THROWS_WITH_AS(CommandLine(commands()).help({"next", "order"}), "unknown command 'next order'",
                       leaf::Error);
}
