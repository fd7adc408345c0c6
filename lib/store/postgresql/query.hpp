#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "leaf/detail/query_lines.hpp"

namespace leaf::store::postgresql {

/// Driver::query_lines of PostgreSQL.
std::unique_ptr<detail::QueryLines> query_lines(const std::string& connection_string,
                                                const std::string& query, const std::string& program,
                                                std::chrono::milliseconds timeout);

}  // namespace leaf::store::postgresql
