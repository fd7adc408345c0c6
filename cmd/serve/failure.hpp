#pragma once

#include <string_view>

#include "leaf/error.hpp"
#include "serve/statistics.hpp"

namespace leafctl::serve {

/// What failed. The same error is a client's mistake in one place and this server's trouble in another.
enum class Sought {
  parameters,  ///< what the client has written was read
  tag,         ///< IDs of the tag that the client named
  snowflake,   ///< IDs of the worker that this server is set up to hold
  document,    ///< what is told of the store and this host
  readiness,
};

/// How a failure is told.
struct Failure {
  Outcome outcome;
  unsigned status;            ///< of HTTP
  std::string_view redis;     ///< what an error of Redis' protocol begins with
  std::string_view fields{};  ///< of HTTP, each with its line end
};

/// The client's mistakes are what it has written and tags that do not exist, or are used up. All else is
/// wrong with the store, this host or what the server was told at its start, which may be mended any time.
Failure failure_of(leaf::ErrorCode code, Sought sought) noexcept;

}  // namespace leafctl::serve
