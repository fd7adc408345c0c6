#pragma once

#include <chrono>
#include <string>

#include "store/connection.hpp"

namespace leaf::store::postgresql {

/// See Driver::inspect.
StoreHealth inspect(Connection& connection, const std::string& url, std::chrono::milliseconds timeout);

}  // namespace leaf::store::postgresql
