#pragma once

#include <memory>
#include <stdexcept>

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

}  // namespace leaf::test
