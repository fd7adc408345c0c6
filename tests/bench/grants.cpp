// Grants a second on one connection: one statement, as leaf::Store::grant_segment sends it, against Leaf's
// own transaction, in turns on the same server.
//
//   bench_grants [CONNECTION_STRING] [ROUNDS] [GRANTS_PER_ROUND]
//
// A server process that happens to share the client's core is several times as fast as one that does not, so
// client and server should have one core for the measurement:  taskset -c 0 pg_virtualenv bench_grants
// Each round has new connections, and what counts is the median.
//
// The connection string is libpq's (default: what PGHOST and its like say); two tags named bench-... are
// added to the store there. Leaf's transaction has autocommit off, as JDBC does it: BEGIN goes out together
// with the UPDATE, so that there are three round trips; each of the statements waits for its result.

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"

namespace {

/// Leaf's SegmentService against its table: updateMaxId, getLeafAlloc, commit.
class LeafTransaction {
 public:
  LeafTransaction(const std::string& connection_string, std::string tag)
      : connection_(PQconnectdb(connection_string.c_str()), &PQfinish), tag_(std::move(tag)) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
  }

  void grant() {
    PQenterPipelineMode(connection_.get());
    send("BEGIN", {});
    send("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = $1", {tag_.c_str()});
    PQpipelineSync(connection_.get());
    finish(PGRES_COMMAND_OK);
    finish(PGRES_COMMAND_OK);
    finish(PGRES_PIPELINE_SYNC);
    PQexitPipelineMode(connection_.get());
    run("SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = $1", {tag_.c_str()}, PGRES_TUPLES_OK);
    run("COMMIT", {}, PGRES_COMMAND_OK);
  }

 private:
  using Parameters = std::vector<const char*>;

  [[noreturn]] void fail() const { throw std::runtime_error(PQerrorMessage(connection_.get())); }

  void send(const char* statement, const Parameters& parameters) {
    if (PQsendQueryParams(connection_.get(), statement, static_cast<int>(parameters.size()), nullptr,
                          parameters.data(), nullptr, nullptr, 0) == 0) {
      fail();
    }
  }
  void run(const char* statement, const Parameters& parameters, ExecStatusType expected) {
    send(statement, parameters);
    finish(expected);
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
  std::string tag_;
};

template <typename Grant>
double grants_per_second(int grants, Grant grant) {
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < grants; ++i) grant();
  return grants / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void print(const char* what, std::vector<double> values, int digits) {
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double q) {
    return values[static_cast<std::size_t>(q * double(values.size() - 1))];
  };
  fmt::print("{:<30} {:>9.{}f}  ({:.{}f} to {:.{}f})\n", what, quantile(0.5), digits, quantile(0.25), digits,
             quantile(0.75), digits);
}

void compare(const std::string& connection_string, int rounds, int grants) {
  constexpr int warm_up = 20;
  const leaf::TagName ours("bench-statement");
  const leaf::TagName theirs("bench-transaction");
  const leaf::StoreOptions options{.url = connection_string.empty() ? "application_name=bench_grants"
                                                                    : connection_string};
  leaf::Store administration(options);
  administration.migrate();
  for (const auto& name : {ours, theirs}) {
    administration.add_tag({.name = name, .step = 1000, .start = {}, .limit = {}, .description = {}});
  }

  std::vector<double> one_statement, three_statements, ratios;
  for (int round = 0; round < rounds; ++round) {
    leaf::Store store(options);
    LeafTransaction transaction(connection_string, theirs.str());
    const auto statement_grant = [&] { store.grant_segment(ours); };
    const auto transaction_grant = [&] { transaction.grant(); };
    grants_per_second(warm_up, statement_grant);
    grants_per_second(warm_up, transaction_grant);
    one_statement.push_back(grants_per_second(grants, statement_grant));
    three_statements.push_back(grants_per_second(grants, transaction_grant));
    ratios.push_back(one_statement.back() / three_statements.back());
  }
  fmt::print("{} rounds of {} grants each, one connection; medians and quartiles\n", rounds, grants);
  print("one statement, grants/s", one_statement, 0);
  print("Leaf's transaction, grants/s", three_statements, 0);
  print("ratio", ratios, 2);
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
