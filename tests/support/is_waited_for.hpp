#pragma once

#include "support/sql_session.hpp"

namespace leaf::test {

/// Somebody waits for a lock that `session` has.
inline bool is_waited_for(SqlSession& session) {
  return session.value(
             "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"
             " AND pg_backend_pid() = ANY (pg_blocking_pids(pid))") == "t";
}

}  // namespace leaf::test
