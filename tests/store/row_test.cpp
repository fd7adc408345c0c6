#include <doctest/doctest.h>

#include "leaf/error.hpp"
#include "store/connection.hpp"
#include "support/error_of.hpp"

using leaf::ErrorCode;
using leaf::store::Row;
using leaf::test::error_code;

TEST_CASE("row: what a server leaves out is an error of the store") {
  const Row row({"7", std::nullopt, "x"});
  CHECK(row.integer(0) == 7);
  CHECK(row.text(1).empty());
  CHECK(error_code([&] { row.integer(1); }) == ErrorCode::failed);
  CHECK(error_code([&] { row.integer(2); }) == ErrorCode::failed);
  CHECK(error_code([&] { static_cast<void>(row.text(3)); }) == ErrorCode::failed);
  CHECK(error_code([&] { static_cast<void>(row.is_null(3)); }) == ErrorCode::failed);
  CHECK(error_code([&] { row.integer_or_null(3); }) == ErrorCode::failed);
  CHECK(error_code([] { leaf::store::only_row({}); }) == ErrorCode::failed);
  CHECK(leaf::store::only_row({row}).integer(0) == 7);
}
