#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"
#include "support/wait_for.hpp"

namespace leaf::test {

/// A standby that gets nothing of what the primary commits from here on.
inline std::unique_ptr<PostgresqlCluster> lagging_standby(PostgresqlCluster& primary) {
  auto standby = std::make_unique<PostgresqlCluster>(PostgresqlCluster::StandbyOf{primary});
  SqlSession administrator(standby->url());
  administrator.run("ALTER SYSTEM SET primary_conninfo = ''");
  administrator.run("SELECT pg_reload_conf()");
  if (!wait_for([&] { return administrator.value("SELECT count(*) FROM pg_stat_wal_receiver") == "0"; }))
    throw std::runtime_error("the standby goes on receiving");
  return standby;
}

/// Returns once `standby` has all that the primary has committed: a clean stop sends the rest only to one
/// that is connected.
inline void wait_until_replayed(const PostgresqlCluster& primary, const PostgresqlCluster& standby) {
  SqlSession writing(primary.url());
  // Something to replay: where a backup has ended a file of the log, there may be nothing in the next one.
  writing.run("SELECT pg_logical_emit_message(true, '', '')");
  const std::string written = writing.value("SELECT pg_current_wal_lsn()");
  SqlSession replaying(standby.url());
  if (!wait_for(
          [&] { return replaying.value("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", {written}) == "t"; }))
    throw std::runtime_error("the standby does not keep up");
}

}  // namespace leaf::test
