#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "support/guard_share.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/server_folder.hpp"
#include "support/sql_session.hpp"
#include "support/standby.hpp"
#include "support/worker_request.hpp"

using leaf::test::is_behind_guard;
using leaf::test::lagging_standby;
using leaf::test::PostgresqlCluster;
using leaf::test::request_of;
using leaf::test::SqlSession;

namespace {

namespace fs = std::filesystem;

const leaf::TagName order("order");
constexpr std::int64_t step = 10;

/// The commands under that heading of leafctl-operations(7), block by block, as they stand there.
std::vector<std::string> commands_of(const std::string& heading) {
  std::ifstream page(LEAF_OPERATIONS_PAGE);
  std::vector<std::string> blocks;
  bool is_there = false, is_command = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(".Ss ") || line.starts_with(".Sh ")) is_there = line.substr(4) == heading;
    if (is_there && line.starts_with(".Bd -literal")) {
      is_command = true;
      blocks.emplace_back();
    } else if (line == ".Ed") {
      is_command = false;
    } else if (is_there && is_command) {
      if (line.ends_with("\\e")) line.pop_back();  // the page's own escape of a backslash
      blocks.back() += line + "\n";
    }
  }
  CAPTURE(heading);
  REQUIRE_FALSE(blocks.empty());
  return blocks;
}

/// An operator's desk: the services `ids` and `standby`, and a shell as the user `postgres`.
class Desk {
 public:
  Desk(const PostgresqlCluster& old, const PostgresqlCluster& present)
      : old_(old.host() + "/data"), present_(present.host() + "/data") {
    std::ofstream(services()) << "[ids]\nhost=" << old.host() << "," << present.host()
                              << "\nport=5432\nuser=postgres\n"
                              << "dbname=postgres\n[standby]\nhost=" << present.host()
                              << "\nport=5432\nuser=postgres\ndbname=postgres\n";
    fs::permissions(folder_.path(), fs::perms::all);
    // Not run from where it was built: that may be below a home which `postgres` may not enter.
    const fs::path built = LEAFCTL, libraries = built.parent_path().parent_path() / "lib";
    fs::copy(built, folder_.path() / "leafctl");
    fs::copy(libraries / "libleaf.so.0", folder_.path() / "libleaf.so.0");
    fs::copy(libraries / "leaf", folder_.path() / "leaf", fs::copy_options::recursive);
  }

  /// One more service.
  void name(const std::string& service, const PostgresqlCluster& cluster) const {
    std::ofstream(services(), std::ios::app)
        << "[" << service << "]\nhost=" << cluster.host() << "\nport=5432\nuser=postgres\ndbname=postgres\n";
  }

  /// Runs the lines one after the other; throws std::runtime_error if one fails. Returns what they print.
  std::string run(const std::string& commands) const {
    const std::string home = folder_.path().string();
    const std::string path = fs::path(leaf::test::postgresql_program("pg_ctl")).parent_path().string() + ":" +
                             home + ":/usr/bin:/bin";
    return leaf::test::run(leaf::test::as_postgres(
        {"env", "-C", home, "PATH=" + path, "LD_LIBRARY_PATH=" + home, "HOME=" + home,
         "PGSERVICEFILE=" + services(), "LEAFCTL_STORE=service=ids", "LEAFCTL_TIMEOUT=60s",
         "LEAFCTL_RUNTIME_DIR=" + buffers_.path().string() + "/run", "OLD=" + old_, "NEW=" + present_, "sh",
         "-ec", "exec 2>&1\n" + commands}));
  }

 private:
  std::string services() const { return folder_.path().string() + "/services"; }

  leaf::test::ServerFolder folder_;
  leaf::test::ServerFolder buffers_{leaf::test::in_memory};
  std::string old_;
  std::string present_;
};

/// A primary that has granted 10 IDs of a tag and leased a worker.
struct Store {
  Store() {
    leaf::Store store({.url = primary.url()});
    store.migrate();
    store.add_tag({.name = order, .step = step});
    CHECK(store.grant(order, 10).range == leaf::Range{1, 11});
    CHECK(store.acquire_worker(request_of("first")).worker == 0);
  }

  PostgresqlCluster primary;
};

bool mentions(const std::string& text, const std::string& part) {
  CAPTURE(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(
    Store, "operations: a planned switchover as the manual has it loses nothing and waits for nothing") {
  const PostgresqlCluster standby(PostgresqlCluster::StandbyOf{primary});
  const Desk desk(primary, standby);
  const auto blocks = commands_of("Planned switchover");
  REQUIRE(blocks.size() == 2);
  const std::string positions = desk.run(blocks[0]);
  // The standby's position is not before that of the last checkpoint, as the manual wants it.
  std::smatch found;
  REQUIRE(std::regex_search(positions, found,
                            std::regex("location: +([0-9A-F]+/[0-9A-F]+)\\s+([0-9A-F]+/[0-9A-F]+)")));
  CHECK(SqlSession(standby.url()).value("SELECT $1::pg_lsn > $2::pg_lsn", {found[2], found[1]}) == "t");

  const std::string done = desk.run(blocks[1]);
  mentions(done, "1 tag left out nothing");
  mentions(done, "workers are leased");
  leaf::Store after({.url = standby.url()});
  CHECK(after.grant(order, 1).range == leaf::Range{11, 12});
  CHECK(after.acquire_worker(request_of("second")).worker == 1);
  CHECK(desk.run("leafctl doctor --exit-code --no-host-buffer").find("failed") == std::string::npos);
}

TEST_CASE_FIXTURE(Store,
                  "operations: a failover as the manual has it repeats nothing that the guard covers") {
  const auto standby = lagging_standby(primary);
  const leaf::Range lost = leaf::Store({.url = primary.url()}).grant(order, 500).range;
  primary.stop(PostgresqlCluster::Stop::immediate);
  const Desk desk(primary, *standby);
  const auto blocks = commands_of("Failover");
  REQUIRE(blocks.size() == 1);
  const std::string done = desk.run(blocks[0]);
  mentions(done, "1 tag left out the guard");
  mentions(done, "workers are leased from ");
  CHECK(std::regex_search(done, std::regex("identity\tfailed\t.*no worker is leased before")));
  CHECK(leaf::Store({.url = standby->url()}).grant(order, 1).range.lo >= lost.hi);
}

TEST_CASE_FIXTURE(Store,
                  "operations: a restore as the manual has it grants nothing that the backup does not know") {
  const Desk desk(primary, primary);
  const auto backup = commands_of("Backup");
  REQUIRE(backup.size() == 3);
  desk.run(backup[0]);
  const leaf::Range since = leaf::Store({.url = primary.url()}).grant(order, 500).range;
  const auto blocks = commands_of("Restore");
  REQUIRE(blocks.size() == 3);
  desk.run("psql -qd service=ids -c 'CREATE VIEW tags AS SELECT * FROM leaf_alloc'");
  CHECK_THROWS(desk.run(blocks[0]));
  desk.run("psql -qd service=ids -c 'DROP VIEW tags'");
  CHECK(leaf::Store({.url = primary.url()}).grant(order, 1).range.lo == since.hi);
  const std::string done = desk.run(blocks[0]);
  mentions(done, "1 tag left out the guard");
  mentions(done, "workers are leased from ");
  leaf::Store after({.url = primary.url()});
  const leaf::Range next = after.grant(order, 10).range;
  CHECK(is_behind_guard(next, 11, 100 * step));
  CHECK(next.lo >= since.hi);
  desk.run(blocks[1]);
  CHECK(after.grant(order, 1).range.lo == 5'000'000);
  // Of a SQLite file nothing that was buffered of the one before is drawn.
  mentions(
      desk.run("STORE=leaf.db; LEAFCTL_STORE=sqlite:$PWD/leaf.db\n"
               "leafctl init-db\nleafctl add-tag order --step 10\n" +
               backup[2] + "leafctl next order\n" + blocks[2] + "leafctl next order || echo ended with $?"),
      "ended with 5");
}

TEST_CASE_FIXTURE(Store,
                  "operations: a physical copy that is started as the manual has it is another server") {
  const Desk desk(primary, primary);
  desk.run("pg_basebackup -c fast -d service=ids -D \"$PWD/copy\"");
  const leaf::Range since = leaf::Store({.url = primary.url()}).grant(order, 500).range;
  primary.stop(PostgresqlCluster::Stop::fast);
  // It has the configuration of the original, and so its socket; and is read-only until it was asked whether
  // it is.
  const std::string done = desk.run(
      "NEW=$PWD/copy\ntrap 'pg_ctl stop --mode=immediate --pgdata=\"$NEW\"' EXIT\n"
      "echo \"recovery_end_command = 'until [ -e $PWD/asked ]; do sleep 0.01; done'\""
      " >>copy/postgresql.auto.conf\n"
      "psql() { command psql \"$@\"; touch asked; }\n" +
      commands_of("Backup").at(1) +
      "leafctl failover show\nleafctl failover settle\necho next: $(leafctl next order --direct)\n");
  mentions(done, "1 tag left out the guard");
  std::smatch found;
  REQUIRE(std::regex_search(done, found, std::regex("next: ([0-9]+)")));
  CHECK(std::stoll(found[1]) >= since.hi);
}

TEST_CASE_FIXTURE(Store, "operations: an upgrade of a store that is up to date does nothing") {
  const Desk desk(primary, primary);
  for (const std::string& block : commands_of("Upgrade")) mentions(desk.run(block), "up to date");
  for (const std::string& block : commands_of("Full disk")) mentions(desk.run(block), "connection\tok");
}

TEST_CASE("operations: two regions as the manual has them draw no ID in common") {
  const PostgresqlCluster east, west;
  const Desk desk(east, west);
  desk.name("east", east);
  desk.name("west", west);
  const auto blocks = commands_of("Two regions");
  REQUIRE(blocks.size() == 3);
  const std::string set_up = desk.run(blocks[0]);
  mentions(set_up, "of the layout's 1024 this store leases 0 to 511");
  mentions(set_up, "of the layout's 1024 this store leases 512 to 1023");
  CHECK(set_up.find("failed") == std::string::npos);
  mentions(desk.run(blocks[1]), "\"worker\":512");

  // From both at once, so that their snowflakes share their times: many owners, with and without a buffer.
  const std::string drawn = desk.run(
      "for region in east west; do\n"
      "  for host in 1 2 3 4; do\n"
      "    leafctl --store service=$region next --snowflake -n 20000 --worker-name $region-$host"
      " --no-host-buffer >$region.$host &\n"
      "  done\n"
      "  leafctl --store service=$region next --snowflake -n 20000 >$region.own &\n"
      "  leafctl --store service=$region next order -n 5000 >$region.order &\n"
      "  leafctl --store service=$region next order -n 5000 --direct >$region.direct &\n"
      "done\n"
      "wait\n"
      "cat east.? west.? east.own west.own east.order west.order east.direct west.direct");
  std::istringstream lines(drawn);
  std::set<std::string> ids;
  std::size_t count = 0;
  for (std::string id; std::getline(lines, id); ++count) ids.insert(id);
  CHECK(count == 220'000);
  CHECK(ids.size() == count);
  mentions(desk.run("leafctl --store service=west workers list"), "\twest-1\tidle\t");
  // Neither takes what is the other's, and a worker in use does not move.
  CHECK_THROWS(desk.run("leafctl --store service=east workers acquire --worker-id 512"));
  CHECK_THROWS(desk.run("leafctl --store service=west init-db --workers 768-1023"));
  CHECK_THROWS(desk.run("leafctl --store service=east next order --direct -n 1000000000000"));

  // A restore that leaves the guard no room.
  desk.run(
      "leafctl --store service=east tags update order --raise-to 999999990000\n"
      "pg_dump --format=custom --file=dump --dbname=service=east\n"
      "leafctl --store service=east next order --direct -n 5000 >lost\n"
      "pg_restore --clean --if-exists --single-transaction --dbname=service=east dump");
  CHECK_THROWS(desk.run("leafctl --store service=east failover settle"));
  CHECK_THROWS(desk.run("leafctl --store service=east next order --no-host-buffer"));
  desk.run(blocks[2] + "leafctl --store service=east failover settle");
  const std::int64_t next = std::stoll(desk.run("leafctl --store service=east next order"));
  CHECK((next > 5'000'000'000'000 && next < 5'999'999'999'999));
}
