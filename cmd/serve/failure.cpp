#include "serve/failure.hpp"

namespace leafctl::serve {

namespace {

using leaf::ErrorCode;

constexpr Failure unavailable{Outcome::unavailable, 503, "TRYAGAIN", "Retry-After: 1\r\n"};

}  // namespace

Failure failure_of(ErrorCode code, Sought sought) noexcept {
  switch (code) {
    case ErrorCode::usage:
      if (sought == Sought::parameters) return {Outcome::bad_request, 400, "ERR"};
      return unavailable;
    case ErrorCode::unavailable:
      return unavailable;
    case ErrorCode::not_found:
      if (sought == Sought::parameters || sought == Sought::tag) return {Outcome::not_found, 404, "ERR"};
      return unavailable;
    case ErrorCode::refused:
      return {Outcome::refused, 503, "ERR"};
    case ErrorCode::exhausted:
      if (sought == Sought::parameters || sought == Sought::tag) return {Outcome::exhausted, 409, "ERR"};
      // No worker is free: nothing that a client could ask for otherwise.
      return {Outcome::exhausted, 503, "ERR"};
    case ErrorCode::failed:
      break;
  }
  return {Outcome::failed, sought == Sought::readiness ? 503U : 500U, "ERR"};
}

}  // namespace leafctl::serve
