#include "snowflake/options.hpp"

#include <chrono>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf::snowflake {

const SnowflakeOptions& valid(const SnowflakeOptions& options) {
  if (options.max_backward < std::chrono::milliseconds::zero() ||
      options.timeout < std::chrono::milliseconds::zero()) {
    throw Error(ErrorCode::usage, "a duration is below zero");
  }
  if (options.release_at_end && options.host) {
    throw Error(ErrorCode::usage, "the windows of a host are not released by one generator",
                "leave out one of 'host' and 'release_at_end'"_hint);
  }
  return options;
}

WorkerRequest request_of(const SnowflakeOptions& options) {
  WorkerRequest request = options.worker;
  request.max_backward = options.max_backward;
  return request;
}

range::Fetcher::Options fetcher_options(const SnowflakeOptions& options) {
  range::Fetcher::Options result{.timeout = options.timeout, .max_threads = 1, .on_failure = {}};
  if (options.on_renewal_failure) {
    result.on_failure = [report = options.on_renewal_failure](const range::RangeSource&, const Error& error) {
      report(error);
    };
  }
  return result;
}

}  // namespace leaf::snowflake
