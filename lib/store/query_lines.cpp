#include "leaf/detail/query_lines.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "store/driver.hpp"
#include "store/url.hpp"

namespace leaf::detail {

std::unique_ptr<QueryLines> query_lines(const std::string& url, const std::string& query,
                                        const std::string& program, std::chrono::milliseconds timeout) {
  const store::Url parsed =
      url.empty() ? store::Url{.driver = "postgresql", .target = ""} : store::parse_url(url);
  const store::Driver& driver = store::driver(parsed.driver);
  if (driver.query_lines == nullptr) {
    throw Error(ErrorCode::usage,
                fmt::format("queries are for PostgreSQL, and '{}:' names another database", parsed.driver));
  }
  return driver.query_lines(parsed.target, query, program, timeout);
}

}  // namespace leaf::detail
