#pragma once

#include <cstdint>
#include <string>

#include "leaf/range.hpp"
#include "support/sql_session.hpp"

namespace leaf::test {

/// The judge of every test that draws IDs. A trigger writes down each range by which a tag's max_id moves, in
/// the transaction that moves it, so that what rolls back is not there; exclusion constraints make PostgreSQL
/// itself refuse ranges that overlap.
class GrantAudit {
 public:
  /// Installs itself in a store that has its schema; the role must own the tables. One for each database.
  explicit GrantAudit(const std::string& url);

  /// Enters a range that somebody was given. Throws std::runtime_error unless it lies in one committed grant
  /// and nobody was given any of it before.
  void given(const std::string& tag, leaf::Range range);
  /// To be called after the server was away.
  void reconnect();
  /// How many grants of the tag were committed.
  std::int64_t committed(const std::string& tag);
  /// How many IDs they hold that nobody was given.
  std::int64_t burnt(const std::string& tag);

 private:
  std::string url_;
  SqlSession session_;
};

}  // namespace leaf::test
