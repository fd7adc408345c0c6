#include "text/display_width.hpp"

#include <doctest/doctest.h>

#include "text/line_wrap.hpp"

using leafctl::display_width;
using leafctl::size_within;

TEST_CASE("display width: wide letters take two columns, combining ones none") {
  CHECK(display_width("") == 0);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("注文") == 4);
  CHECK(display_width("e\u0301t\u0301") == 2);
  CHECK(display_width("\xff\xfe!") == 3);
}

TEST_CASE("display width: what fits is cut between letters") {
  CHECK(size_within("größe", 3) == 4);
  CHECK(size_within("注文番号", 5) == 6);
  CHECK(size_within("注文", 1) == 3);
  CHECK(size_within("abc", 10) == 3);
  CHECK(size_within("", 10) == 0);
}

TEST_CASE("display width: lines are broken by columns, and no letter is cut") {
  CHECK(leafctl::wrap("注文 番号 一覧", 0, 9) == std::vector<std::string>{"注文 番号", "一覧"});
  CHECK(leafctl::wrap("注文番号一覧", 0, 5, leafctl::LongWords::broken) ==
        std::vector<std::string>{"注文", "番号", "一覧"});
}
