#include "leaf/detail/nearest.hpp"

#include <doctest/doctest.h>

#include <vector>

using leaf::detail::nearest;

namespace {

const std::vector<std::string> words{"init-db", "add-tag", "tags", "next", "show-config", "help"};

}  // namespace

TEST_CASE("nearest: a letter missing, added, changed or swapped is seen through") {
  CHECK(nearest("nxt", words) == "next");
  CHECK(nearest("nextt", words) == "next");
  CHECK(nearest("nezt", words) == "next");
  CHECK(nearest("enxt", words) == "next");
  CHECK(nearest("tag", words) == "tags");
  CHECK(nearest("show-confg", words) == "show-config");
}

TEST_CASE("nearest: the beginning of a word stands for it") {
  CHECK(nearest("add", words) == "add-tag");
  CHECK(nearest("show", words) == "show-config");
}

TEST_CASE("nearest: a word that is like none is left alone") {
  CHECK(nearest("frobnicate", words).empty());
  CHECK(nearest("x", words).empty());
  CHECK(nearest("", words).empty());
  CHECK(nearest(std::string(1'000'000, 'n'), words).empty());
}
