#pragma once

#include "leaf/error.hpp"
#include "serve/statistics.hpp"

namespace leafctl::serve {

inline Outcome outcome_of(const leaf::Error& error) noexcept {
  switch (error.code()) {
    case leaf::ErrorCode::usage:
      return Outcome::bad_request;
    case leaf::ErrorCode::unavailable:
      return Outcome::unavailable;
    case leaf::ErrorCode::not_found:
      return Outcome::not_found;
    case leaf::ErrorCode::refused:
      return Outcome::refused;
    case leaf::ErrorCode::exhausted:
      return Outcome::exhausted;
    default:
      return Outcome::failed;
  }
}

}  // namespace leafctl::serve
