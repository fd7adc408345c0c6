#include "simulation/disguised_postgresql.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>

#include "leaf/detail/module.hpp"
#include "leaf/store.hpp"

namespace leaf::simulation {

namespace {

constexpr std::chrono::milliseconds timeout{30'000};

}  // namespace

std::unique_ptr<store::Connection> connect(const char* database, const std::string& url) {
  const auto* const driver =
      static_cast<const store::Driver*>(detail::module_symbol(database, "the driver", "leaf_store_driver"));
  auto connection = driver->connect(url, "test", store::IfMissing::fail, timeout);
  REQUIRE(connection->find_tables(timeout));
  return connection;
}

DisguisedPostgresql::DisguisedPostgresql(std::int64_t clock_ms) {
  // Whatever is made from now on calls these.
  database_.sql().run(fmt::format(R"(
ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO real_clock_timestamp;
ALTER FUNCTION pg_catalog.now() RENAME TO real_now;
ALTER FUNCTION pg_catalog.pg_postmaster_start_time() RENAME TO real_postmaster_start_time;
ALTER FUNCTION pg_catalog.pg_control_system() RENAME TO real_control_system;
ALTER FUNCTION pg_catalog.pg_walfile_name(pg_lsn) RENAME TO real_walfile_name;
ALTER FUNCTION pg_catalog.pg_relation_filepath(regclass) RENAME TO real_relation_filepath;
CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.clock'')::bigint / 1000.0::double precision)';
CREATE FUNCTION pg_catalog.now() RETURNS timestamptz LANGUAGE sql STABLE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.begin'')::bigint / 1000.0::double precision)';
CREATE FUNCTION pg_catalog.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.start'')::double precision)';
CREATE FUNCTION pg_catalog.pg_control_system(OUT system_identifier bigint, OUT pg_control_version integer)
  LANGUAGE sql STABLE AS 'SELECT current_setting(''leaf_test.system'')::bigint, 1';
CREATE FUNCTION pg_catalog.pg_walfile_name(at pg_lsn) RETURNS text LANGUAGE sql STABLE
  AS 'SELECT lpad(to_hex(current_setting(''leaf_test.timeline'')::integer), 8, ''0'') || ''0000000000000001''';
CREATE FUNCTION pg_catalog.pg_relation_filepath(of regclass) RETURNS text LANGUAGE sql STABLE
  AS 'SELECT concat(''base/'', current_setting(''leaf_test.tables''), ''/'', of::oid)';
ALTER DATABASE {0} SET leaf_test.clock = '{1}';
ALTER DATABASE {0} SET leaf_test.begin = '{1}';
ALTER DATABASE {0} SET leaf_test.start = '1';
ALTER DATABASE {0} SET leaf_test.system = '1';
ALTER DATABASE {0} SET leaf_test.timeline = '1';
ALTER DATABASE {0} SET leaf_test.tables = '1';)",
                                  database_.name(), clock_ms));
  Store store({.url = database_.url()});
  store.migrate();
  store.install_functions();
  oids_ = database_.sql().value(
      "SELECT concat('.', 'leaf_meta'::regclass::oid, '.', 'leaf_alloc'::regclass::oid)");
  connection_ = connect("postgresql", database_.url());
}

std::string DisguisedPostgresql::real_name(const ServerName& name) const {
  return fmt::format("{}/{}/{}{}", name.system, name.timeline, name.tables, oids_);
}

std::string DisguisedPostgresql::name_in_model(const std::string& real) const {
  const std::string name = real.substr(0, real.find('@'));
  if (!name.ends_with(oids_)) return real;
  const auto tables = name.rfind('/') + 1;
  return name.substr(0, tables) + "1." + name.substr(tables, name.size() - oids_.size() - tables) + ".1";
}

void DisguisedPostgresql::set_clock(std::int64_t clock_ms, std::int64_t begin_ms) {
  run(fmt::format("SET leaf_test.clock = '{}'; SET leaf_test.begin = '{}'", clock_ms, begin_ms));
}

void DisguisedPostgresql::become(const ServerName& name, int start) {
  run(
      fmt::format("SET leaf_test.system = '{}'; SET leaf_test.timeline = '{}'; SET leaf_test.tables = '{}';"
                  " SET leaf_test.start = '{}'",
                  name.system, name.timeline, name.tables, start));
}

void DisguisedPostgresql::run(const std::string& script) {
  connection_->run_script(script, timeout);
}

void DisguisedPostgresql::damage(const std::string& script) {
  run("SET session_replication_role = replica; " + script + "; SET session_replication_role = origin");
}

void DisguisedPostgresql::empty(const ServerName& here) {
  become(here, 1);
  damage(fmt::format(
      "DELETE FROM public.leaf_alloc; DELETE FROM public.leaf_worker; DELETE FROM public.leaf_event;"
      "UPDATE public.leaf_meta SET layout = DEFAULT, layout_fixed = false, next_worker = 0,"
      " first_worker = 0, last_worker = NULL, tags = 0, guard_steps = 100, leases_from = 0,"
      " leases_before = 0, worker_table = 'public.leaf_worker'::regclass::oid, granted_by = '{}',"
      " granted_before = NULL",
      real_name(here)));
}

}  // namespace leaf::simulation
