#include "ids/one_store.hpp"

#include <doctest/doctest.h>

#include "leaf/error.hpp"
#include "support/error_of.hpp"

using leaf::test::error_code;
using leaf::test::error_text;

TEST_CASE("one store: an output goes on with a copy of its deployment, and ends with another deployment") {
  leafctl::OneStore store;
  store.require({.deployment = "a", .copy = "1"}, 5);
  store.require({.deployment = "a", .copy = "2"}, 7);
  CHECK(error_code([&] { store.require({.deployment = "b", .copy = "2"}, 1); }) == leaf::ErrorCode::refused);
  CHECK(error_text([&] {
          store.require({.deployment = "b", .copy = "2"}, 1);
        }).starts_with("the store is another one now; 12 IDs of the previous one were printed"));
}

TEST_CASE("one store: it is known before anything is printed") {
  leafctl::OneStore store;
  store.require({.deployment = "a", .copy = "1"}, 0);
  CHECK(error_code([&] { store.require({.deployment = "b", .copy = "1"}, 1); }) == leaf::ErrorCode::refused);
}
