#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "leaf/export.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// The rows of a query in a database of anybody's, which is only read.
class QueryLines {
 public:
  virtual ~QueryLines() = default;

  /// Waits for more rows and returns them, each a line of the one column that they have; empty at the end.
  /// Valid until the next call. Throws Error.
  virtual std::string_view next_lines() = 0;
};

/// Asks the database at `url`, as a store's is written, `query`; an empty one is libpq's own default.
/// `timeout` is for the connection: the answer may take as long as it does. Rows come as they are read, and
/// none are kept. Throws Error: `usage` if it is no such query, or no such URL.
LEAF_EXPORT std::unique_ptr<QueryLines> query_lines(const std::string& url, const std::string& query,
                                                    const std::string& program,
                                                    std::chrono::milliseconds timeout);

}  // namespace leaf::detail
