#include "text/line_wrap.hpp"

#include <doctest/doctest.h>

using leafctl::fold;
using leafctl::refill;
using leafctl::wrap;
using Lines = std::vector<std::string>;

TEST_CASE("line wrap: text is broken at blanks, and a word that is longer stays whole") {
  CHECK(wrap("one two three", 0, 7) == Lines{"one two", "three"});
  CHECK(wrap("one two three", 1, 7) == Lines{"one", "two", "three"});
  CHECK(wrap("a /a/path/of/some/length b", 1, 9, leafctl::LongWords::broken) ==
        Lines{"a", "/a/path/", "of/some/", "length", "b"});
  CHECK(wrap("a /a/path/of/some/length b", 0, 8) == Lines{"a", "/a/path/of/some/length", "b"});
}

TEST_CASE("line wrap: folded lines go on a little further in, and what fits stays as it is") {
  CHECK(fold("a  b\n\n  c   d\n", 7) == "a  b\n\n  c   d\n");
  CHECK(fold("  one two three four\n", 11) == "  one two\n    three\n    four\n");
  CHECK(fold("one two", 6) == "one\n  two");
  CHECK(fold("/a/path/of/some/length\n", 12) == "/a/path/\n  of/some/\n  length\n");
  CHECK(fold("abcdefghijkl", 6) == "abcd\n  efgh\n  ijkl");
  CHECK(fold("", 6).empty());
}

TEST_CASE("line wrap: prose is filled anew, and examples keep their lines") {
  CHECK(refill("one two\nthree\n\nfour\n  leafctl x\n  leafctl y z", 12) ==
        "one two\nthree\n\nfour\n  leafctl x\n  leafctl\n    y z");
  CHECK(refill("one two\nthree\n\nExamples:\n  leafctl x\n", 40) ==
        "one two three\n\nExamples:\n  leafctl x\n");
}
