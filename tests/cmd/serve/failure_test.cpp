#include "serve/failure.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using leaf::ErrorCode;
using namespace leafctl::serve;

}  // namespace

TEST_CASE("failures: what a client asked wrongly is 4xx, what is wrong with the server or its store 5xx") {
  struct Row {
    ErrorCode code;
    Sought sought;
    Outcome outcome;
    unsigned status;
    std::string redis;
    bool may_pass;
  };
  const Row rows[] = {
      {ErrorCode::usage, Sought::parameters, Outcome::bad_request, 400, "ERR", false},
      {ErrorCode::usage, Sought::tag, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::usage, Sought::snowflake, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::usage, Sought::document, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::usage, Sought::readiness, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::unavailable, Sought::parameters, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::unavailable, Sought::tag, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::unavailable, Sought::snowflake, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::unavailable, Sought::document, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::unavailable, Sought::readiness, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::not_found, Sought::parameters, Outcome::not_found, 404, "ERR", false},
      {ErrorCode::not_found, Sought::tag, Outcome::not_found, 404, "ERR", false},
      {ErrorCode::not_found, Sought::snowflake, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::not_found, Sought::document, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::not_found, Sought::readiness, Outcome::unavailable, 503, "TRYAGAIN", true},
      {ErrorCode::refused, Sought::parameters, Outcome::refused, 503, "ERR", false},
      {ErrorCode::refused, Sought::tag, Outcome::refused, 503, "ERR", false},
      {ErrorCode::refused, Sought::snowflake, Outcome::refused, 503, "ERR", false},
      {ErrorCode::refused, Sought::document, Outcome::refused, 503, "ERR", false},
      {ErrorCode::refused, Sought::readiness, Outcome::refused, 503, "ERR", false},
      {ErrorCode::exhausted, Sought::parameters, Outcome::exhausted, 409, "ERR", false},
      {ErrorCode::exhausted, Sought::tag, Outcome::exhausted, 409, "ERR", false},
      {ErrorCode::exhausted, Sought::snowflake, Outcome::exhausted, 503, "ERR", false},
      {ErrorCode::exhausted, Sought::document, Outcome::exhausted, 503, "ERR", false},
      {ErrorCode::exhausted, Sought::readiness, Outcome::exhausted, 503, "ERR", false},
      {ErrorCode::failed, Sought::parameters, Outcome::failed, 500, "ERR", false},
      {ErrorCode::failed, Sought::tag, Outcome::failed, 500, "ERR", false},
      {ErrorCode::failed, Sought::snowflake, Outcome::failed, 500, "ERR", false},
      {ErrorCode::failed, Sought::document, Outcome::failed, 500, "ERR", false},
      {ErrorCode::failed, Sought::readiness, Outcome::failed, 503, "ERR", false},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.code));
    CAPTURE(static_cast<int>(row.sought));
    const Failure failure = failure_of(row.code, row.sought);
    CHECK(failure.outcome == row.outcome);
    CHECK(failure.status == row.status);
    CHECK(failure.redis == row.redis);
    CHECK(failure.fields == (row.may_pass ? "Retry-After: 1\r\n" : ""));
  }
}
