// Grants a second on one connection, in turns on the same server: one statement, as
// leaf::Store::grant_segment sends it, with all that guards it; Leaf's own transaction, with statements that
// are prepared, as JDBC's driver has them from the fifth time on, and that are not; and, as the floor, a bare
// UPDATE. The last three change a table that has nothing but Leaf's columns.
//
//   bench_grants [CONNECTION_STRING] [ROUNDS] [GRANTS_PER_ROUND]
//
// A server process that happens to share the client's core is several times as fast as one that does not, so
// client and server should have one core for the measurement:  taskset -c 0 pg_virtualenv bench_grants
// Each round has new connections, and what counts is the median.
//
// The connection string is libpq's (default: what PGHOST and its like say); tag bench-grants is added to the
// store there, and a table bench_plain beside it. Leaf's transaction has autocommit off, as JDBC does it:
// BEGIN goes out together with the UPDATE, so that there are three round trips; each of the statements waits
// for its result.

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"

namespace {

/// A connection of one's own, with its statements as they are, or prepared.
class Connection {
 public:
  using Parameters = std::vector<const char*>;

  Connection(const std::string& connection_string, bool is_prepared)
      : connection_(PQconnectdb(connection_string.c_str()), &PQfinish), is_prepared_(is_prepared) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
  }

  void run(const char* statement, const Parameters& parameters, ExecStatusType expected) {
    prepare(statement);
    send(statement, parameters);
    finish(expected);
  }
  /// Both in one round trip.
  void run_behind_begin(const char* statement, const Parameters& parameters) {
    prepare("BEGIN");
    prepare(statement);
    PQenterPipelineMode(connection_.get());
    send("BEGIN", {});
    send(statement, parameters);
    PQpipelineSync(connection_.get());
    finish(PGRES_COMMAND_OK);
    finish(PGRES_COMMAND_OK);
    finish(PGRES_PIPELINE_SYNC);
    PQexitPipelineMode(connection_.get());
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(PQerrorMessage(connection_.get())); }

  /// A statement is its own name.
  void prepare(const char* statement) {
    if (!is_prepared_ || !names_.insert(statement).second) return;
    if (PQsendPrepare(connection_.get(), statement, statement, 0, nullptr) == 0) fail();
    finish(PGRES_COMMAND_OK);
  }
  void send(const char* statement, const Parameters& parameters) {
    const int count = static_cast<int>(parameters.size());
    const int sent = is_prepared_ ? PQsendQueryPrepared(connection_.get(), statement, count,
                                                        parameters.data(), nullptr, nullptr, 0)
                                  : PQsendQueryParams(connection_.get(), statement, count, nullptr,
                                                      parameters.data(), nullptr, nullptr, 0);
    if (sent == 0) fail();
  }
  /// Takes one statement's results.
  void finish(ExecStatusType expected) {
    PGresult* result = PQgetResult(connection_.get());
    const bool good = PQresultStatus(result) == expected;
    PQclear(result);
    if (!good) fail();
    if (expected != PGRES_PIPELINE_SYNC && PQgetResult(connection_.get()) != nullptr) fail();
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  const bool is_prepared_;
  std::set<std::string> names_;
};

/// Leaf's SegmentService: updateMaxId, getLeafAlloc, commit.
void grant_as_leaf(Connection& connection, const std::string& tag) {
  connection.run_behind_begin("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = $1",
                              {tag.c_str()});
  connection.run("SELECT biz_tag, max_id, step FROM bench_plain WHERE biz_tag = $1", {tag.c_str()},
                 PGRES_TUPLES_OK);
  connection.run("COMMIT", {}, PGRES_COMMAND_OK);
}

void make_plain_table(Connection& connection, const std::string& tag) {
  connection.run("DROP TABLE IF EXISTS bench_plain", {}, PGRES_COMMAND_OK);
  connection.run(
      "CREATE TABLE bench_plain (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL, step integer NOT "
      "NULL,"
      " description varchar(256), update_time timestamptz NOT NULL)",
      {}, PGRES_COMMAND_OK);
  connection.run("INSERT INTO bench_plain VALUES ($1, 1, 1000, NULL, now())", {tag.c_str()},
                 PGRES_COMMAND_OK);
}

void grant_plainly(Connection& connection, const std::string& tag) {
  connection.run(
      "UPDATE bench_plain SET max_id = max_id + step, update_time = now() WHERE biz_tag = $1 RETURNING "
      "max_id, step",
      {tag.c_str()}, PGRES_TUPLES_OK);
}

template <typename Grant>
double grants_per_second(int grants, Grant grant) {
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < grants; ++i) grant();
  return grants / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void print(const std::string& what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double q) {
    return values[static_cast<std::size_t>(q * double(values.size() - 1))];
  };
  fmt::print("{:<30} {:>9.0f}  ({:.0f} to {:.0f})\n", what, quantile(0.5), quantile(0.25), quantile(0.75));
}

void compare(const std::string& connection_string, int rounds, int grants) {
  constexpr int warm_up = 20;
  const leaf::TagName tag("bench-grants");
  const leaf::StoreOptions options{.url = connection_string.empty() ? "application_name=bench_grants"
                                                                    : connection_string};
  leaf::Store administration(options);
  administration.migrate();
  administration.add_tag({.name = tag, .step = 1000, .start = {}, .limit = {}, .description = {}});

  {
    Connection connection(connection_string, false);
    make_plain_table(connection, tag.str());
  }

  std::map<std::string, std::vector<double>> rates;
  for (int round = 0; round < rounds; ++round) {
    leaf::Store store(options);
    Connection leaf(connection_string, false);
    Connection prepared_leaf(connection_string, true);
    Connection plain(connection_string, true);
    const auto measure = [&](const char* what, const std::function<void()>& grant) {
      grants_per_second(warm_up, grant);
      rates[what].push_back(grants_per_second(grants, grant));
    };
    measure("one statement", [&] { store.grant_segment(tag); });
    measure("Leaf's transaction", [&] { grant_as_leaf(leaf, tag.str()); });
    measure("Leaf's transaction, prepared", [&] { grant_as_leaf(prepared_leaf, tag.str()); });
    measure("a bare UPDATE, prepared", [&] { grant_plainly(plain, tag.str()); });
  }
  fmt::print("{} rounds of {} grants each, one connection; grants a second, medians and quartiles\n", rounds,
             grants);
  for (const auto& [what, values] : rates) print(what, values);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string connection_string = argc > 1 ? argv[1] : "";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 51;
  const int grants = argc > 3 ? std::atoi(argv[3]) : 200;
  if (rounds < 1 || grants < 1)
    throw std::runtime_error("usage: bench_grants [CONNECTION_STRING] [ROUNDS] [GRANTS]");
  compare(connection_string, rounds, grants);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_grants: {}\n", error.what());
  return 1;
}
