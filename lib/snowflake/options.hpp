#pragma once

#include "leaf/snowflake.hpp"
#include "leaf/worker.hpp"
#include "range/fetcher.hpp"

namespace leaf::snowflake {

/// `options` themselves. Throws `usage` where no generator can work by them.
const SnowflakeOptions& valid(const SnowflakeOptions& options);

/// What the store is asked for.
WorkerRequest request_of(const SnowflakeOptions& options);

/// How windows are fetched ahead.
range::Fetcher::Options fetcher_options(const SnowflakeOptions& options);

}  // namespace leaf::snowflake
