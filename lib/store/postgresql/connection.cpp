#include "store/connection.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/fork_guard.hpp"
#include "store/postgresql/errors.hpp"
#include "store/postgresql/health.hpp"
#include "store/postgresql/migrations.hpp"
#include "store/postgresql/parameters.hpp"
#include "store/postgresql/query.hpp"
#include "store/postgresql/schema_names.hpp"
#include "store/postgresql/session.hpp"
#include "store/postgresql/sql.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long a call that has timed out may go on to tell the server so.
constexpr milliseconds cancel_patience{500};
/// How often a statement is parsed anew before it is prepared; a call from the shell never comes that far.
constexpr int prepare_at_use = 3;

class PostgresqlConnection final : public Connection {
 public:
  PostgresqlConnection(const std::string& connection_string, const std::string& program, milliseconds timeout)
      : session_(log_in(connection_string, program, steady_clock::now() + timeout)) {
    PQsetNoticeReceiver(session_.get(), &PostgresqlConnection::note, this);
    PQsetnonblocking(session_.get(), 1);
  }

  const Sql& sql() const noexcept override { return postgresql::sql; }

  std::vector<Row> execute(const char* statement, std::span<const Value> parameters,
                           milliseconds timeout) override {
    const Parameters values(parameters);
    const auto before = PQtransactionStatus(session_.get());
    auto rows = run(named(statement), values.texts(), steady_clock::now() + timeout);
    // The row is only worth something once the commit is known: neither may the statement have opened a
    // transaction, nor may the server have warned, as it does when it gave up waiting for a standby.
    if (PQtransactionStatus(session_.get()) != before) {
      usable_ = false;
      throw Error(ErrorCode::failed, "the store left a transaction open", "", sqlstate::connection_lost);
    }
    require_no_warning();
    return rows;
  }

  /// In one round trip: the server takes the changes back even if this process is stopped meanwhile.
  std::vector<Row> try_out(const char* statement, std::span<const Value> parameters,
                           milliseconds timeout) override {
    const Parameters values(parameters);
    const std::string& text = named(statement).text;
    const auto deadline = steady_clock::now() + timeout;
    PQenterPipelineMode(session_.get());
    const bool sent = send("BEGIN", {}) && send(pin, {}) && send(text, values.texts()) &&
                      send("SET CONSTRAINTS ALL IMMEDIATE", {}) && send("ROLLBACK", {}) && send_sync();
    Outcome outcome;
    await(sent, deadline);
    collect(outcome, deadline);  // of BEGIN
    collect(outcome, deadline);  // of the pin
    outcome.rows.clear();
    for (int i = 0; i < 3; ++i) collect(outcome, deadline);  // of the rest
    try {
      leave_pipeline(outcome, deadline);
      if (PQtransactionStatus(session_.get()) != PQTRANS_IDLE) run_script("ROLLBACK", timeout);
    } catch (const Error&) {
      // In pgbouncer's statement mode that is the end of the session: it has taken all back.
      if (!outcome.error) throw;
      usable_ = false;
    }
    return judged(std::move(outcome), deadline);
  }

  void commit(milliseconds timeout) override {
    run_script("COMMIT", timeout);
    require_no_warning();
  }

  bool find_tables(milliseconds timeout) override {
    const bool in_transaction = PQtransactionStatus(session_.get()) != PQTRANS_IDLE;
    if (may_be_rolled_back_) lie_in("");
    if (!schema_.empty()) {
      if (in_transaction) finish(send(pin), steady_clock::now() + timeout);
      return true;
    }
    const std::string pid = std::to_string(PQbackendPID(session_.get()));
    // Once the path is set it does not tell any more where tables would be made.
    const bool is_known = in_transaction && !home_.empty();
    const std::vector<const char*> values{in_transaction ? "true" : "false", pid.c_str(),
                                          is_known ? home_.c_str() : nullptr};
    const Row found = only_row(finish(send(find_schema, values), steady_clock::now() + timeout));
    const bool is_set = !found.is_null(4);
    if (found.is_null(0)) {
      if (!is_known) home_ = found.is_null(1) ? "" : found.text(1) + ".";
      return false;
    }
    require_only_table(found);
    lie_in(found.text(0) + ".");
    may_be_rolled_back_ = in_transaction;
    // A pooler may give the next statement to another process. It makes up the process ID that it shows at
    // login.
    if (!in_transaction) is_direct_ = is_set;
    return true;
  }

  std::string schema() const override { return schema_.empty() ? home_ : schema_; }

  std::string placed(const std::string& migration) const override {
    if (schema().empty()) {
      throw Error(ErrorCode::usage, "the search_path names no schema where tables could be created",
                  "create one, or name one with options='-c search_path=SCHEMA' in the store's URL"_hint);
    }
    return migration_in_schema(migration, schema());
  }

  std::vector<Row> run_script(const std::string& script, milliseconds timeout) override {
    return finish(send(script.c_str()), steady_clock::now() + timeout);
  }

  bool usable() const noexcept override { return usable_ && PQstatus(session_.get()) == CONNECTION_OK; }

 private:
  static void note(void* self, const PGresult* notice) {
    const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == nullptr || std::string_view(severity) != "WARNING" || is_about_age(notice)) return;
    const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    static_cast<PostgresqlConnection*>(self)->warning_ = text != nullptr ? text : "(no text)";
  }

  /// For days before a wraparound, each transaction gets a warning that says nothing about its commit.
  static bool is_about_age(const PGresult* notice) {
    const char* const file = PQresultErrorField(notice, PG_DIAG_SOURCE_FILE);
    return file != nullptr &&
           (std::string_view(file).ends_with("varsup.c") || std::string_view(file).ends_with("multixact.c"));
  }

  void require_no_warning() const {
    if (warning_.empty()) return;
    throw Error(ErrorCode::unavailable, fmt::format("the store warned: {}", warning_),
                "look at the server's log; synchronous replication may have failed"_hint, sqlstate::warning);
  }

  void lie_in(const std::string& schema) {
    schema_ = schema;
    if (!schema.empty()) home_ = schema;
    statements_.clear();  // they name the tables
    is_direct_ = false;
  }

  /// What is known of one of the statements that the program has.
  struct Statement {
    std::string text;
    int uses = 0;
    std::string name;  // once it is prepared
  };

  Statement& named(const char* statement) {
    const auto [entry, is_new] = statements_.try_emplace(statement);
    if (is_new) entry->second.text = in_schema(statement, schema_);
    return entry->second;
  }

  std::vector<Row> run(Statement& statement, const std::vector<const char*>& values, Deadline deadline) {
    if (PQtransactionStatus(session_.get()) != PQTRANS_IDLE) return run_parsed(statement, values, deadline);
    if (!is_direct_) return run_pinned(statement, values, deadline);
    if (++statement.uses < prepare_at_use) return run_parsed(statement, values, deadline);
    try {
      return run_prepared(statement, values, deadline);
    } catch (const Error& error) {
      if (!lost_preparation(error)) throw;
      is_direct_ = false;  // nothing was done yet; from now on as behind a pooler
      return run_pinned(statement, values, deadline);
    }
  }

  bool send(const std::string& statement, const std::vector<const char*>& values) {
    return take_step([&] {
      return PQsendQueryParams(session_.get(), statement.c_str(), static_cast<int>(values.size()), nullptr,
                               values.data(), nullptr, nullptr, /*resultFormat=*/0) != 0;
    });
  }
  /// Statements without parameters, which may be several.
  bool send(const char* script) {
    return take_step([&] { return PQsendQuery(session_.get(), script) != 0; });
  }

  std::vector<Row> run_parsed(Statement& statement, const std::vector<const char*>& values,
                              Deadline deadline) {
    return finish(send(statement.text, values), deadline);
  }

  /// In a transaction with `pin`, and in one round trip: the session is one that a pooler shares.
  std::vector<Row> run_pinned(Statement& statement, const std::vector<const char*>& values,
                              Deadline deadline) {
    PQenterPipelineMode(session_.get());
    const bool sent = send(pin, {}) && send(statement.text, values) && send_sync();
    Outcome outcome;
    await(sent, deadline);
    collect(outcome, deadline);  // of the pin
    outcome.rows.clear();
    collect(outcome, deadline);  // of the statement
    leave_pipeline(outcome, deadline);
    return judged(std::move(outcome), deadline);
  }

  std::vector<Row> run_prepared(Statement& statement, const std::vector<const char*>& values,
                                Deadline deadline) {
    if (statement.name.empty()) {
      const std::string name = fmt::format("leaf_{}", ++prepared_);
      finish(take_step([&] {
               return PQsendPrepare(session_.get(), name.c_str(), statement.text.c_str(), 0, nullptr) != 0;
             }),
             deadline);
      statement.name = name;
    }
    const bool sent = take_step([&] {
      return PQsendQueryPrepared(session_.get(), statement.name.c_str(), static_cast<int>(values.size()),
                                 values.data(), nullptr, nullptr, /*resultFormat=*/0) != 0;
    });
    return finish(sent, deadline);
  }

  /// Whether a statement failed only because it was prepared: it is gone, was there already, or the table has
  /// other types since.
  static bool lost_preparation(const Error& error) {
    return error.sqlstate() == "26000" || error.sqlstate() == "42P05" || error.sqlstate() == "0A000";
  }

  /// What came of what was sent.
  struct Outcome {
    std::vector<Row> rows;
    std::optional<Error> error;
    bool is_synchronized = false;  // the end of a pipeline was reached
  };

  std::vector<Row> finish(bool sent, Deadline deadline) {
    Outcome outcome;
    await(sent, deadline);
    collect(outcome, deadline);
    return judged(std::move(outcome), deadline);
  }

  void await(bool sent, Deadline deadline) {
    warning_.clear();
    if (!sent) throw lost();
    flush(deadline);
  }

  /// Collects every result up to the last one, since an error may follow a row.
  void collect(Outcome& outcome, Deadline deadline) {
    for (Result result = next_result(deadline); result; result = next_result(deadline)) {
      switch (PQresultStatus(result.get())) {
        case PGRES_TUPLES_OK:
          for (int i = 0; i < PQntuples(result.get()); ++i) outcome.rows.push_back(row_of(result.get(), i));
          break;
        case PGRES_COMMAND_OK:
        case PGRES_PIPELINE_ABORTED:
          break;
        case PGRES_PIPELINE_SYNC:
          outcome.is_synchronized = true;
          return;
        default:
          if (!outcome.error) outcome.error = statement_error(result.get());
          if (is_fatal(result.get())) throw ended(*outcome.error);
      }
    }
    if (PQstatus(session_.get()) != CONNECTION_OK) throw lost();
  }

  bool send_sync() {
    return take_step([&] { return PQpipelineSync(session_.get()) != 0; });
  }

  /// Collects what ends a pipeline: the commit, and its end where that failed.
  void leave_pipeline(Outcome& outcome, Deadline deadline) {
    for (int i = 0; i < 2 && !outcome.is_synchronized; ++i) collect(outcome, deadline);
    if (!outcome.is_synchronized) throw lost();
    PQexitPipelineMode(session_.get());
  }

  std::vector<Row> judged(Outcome outcome, Deadline deadline) {
    const auto& error = outcome.error;
    if (!error) return std::move(outcome.rows);
    if (error->sqlstate() == sqlstate::read_only) throw ended(read_only(*error, deadline));
    // A pooler that lost its server, or tables that went elsewhere: the next attempt has to look anew.
    if (error->sqlstate().starts_with("08") || (!schema_.empty() && is_missing_table(*error)))
      usable_ = false;
    throw Error(*error);
  }

  /// Says whether it is the server that takes no writes, or the session.
  Error read_only(const Error& error, Deadline deadline) {
    std::optional<bool> is_standby;
    if (const char* told = PQparameterStatus(session_.get(), "in_hot_standby")) {
      is_standby = std::string_view(told) == "on";
    } else if (PQtransactionStatus(session_.get()) == PQTRANS_IDLE) {
      // Servers before 14, and poolers, do not tell by themselves.
      is_standby =
          only_row(finish(send("SELECT pg_catalog.pg_is_in_recovery()::integer"), deadline)).integer(0) == 1;
    }
    return read_only_error(error, is_standby);
  }

  void flush(Deadline deadline) {
    const auto flush_some = [&] { return PQflush(session_.get()); };
    for (int left = take_step(flush_some); left != 0; left = take_step(flush_some)) {
      if (left < 0) throw lost();
      if (!wait_for_socket(session_.get(), /*for_writing=*/true, deadline)) throw timed_out();
      consume_input();
    }
  }

  Result next_result(Deadline deadline) {
    while (PQisBusy(session_.get()) != 0) {
      if (!wait_for_socket(session_.get(), /*for_writing=*/false, deadline)) throw timed_out();
      consume_input();
    }
    return Result(PQgetResult(session_.get()));
  }

  void consume_input() {
    if (take_step([&] { return PQconsumeInput(session_.get()); }) == 0) throw lost();
  }

  static Row row_of(const PGresult* result, int row) {
    std::vector<std::optional<std::string>> columns;
    for (int i = 0; i < PQnfields(result); ++i) {
      if (PQgetisnull(result, row, i) != 0) {
        columns.emplace_back();
      } else {
        columns.emplace_back(PQgetvalue(result, row, i));
      }
    }
    return Row(std::move(columns));
  }

  Error lost() { return ended(lost_connection(session_.get())); }

  Error ended(const Error& error) {
    usable_ = false;
    return error;
  }

  Error timed_out() {
    usable_ = false;
    cancel(session_.get(), cancel_patience);
    return {ErrorCode::unavailable, "the store did not answer in time",
            advice("try again, or allow more time{}; see who holds a lock{}"_hint,
                   Remedy{Remedy::Kind::allow_more_time}, Remedy{Remedy::Kind::check_store}),
            sqlstate::timed_out};
  }

  Session session_;
  std::string warning_;
  bool usable_ = true;
  std::string schema_;               // where the tables lie, and a dot; empty while that is not known
  bool may_be_rolled_back_ = false;  // they were found in a transaction that may have made them
  std::map<const char*, Statement> statements_;
  int prepared_ = 0;
  std::string home_;        // schema_, or where the tables would be made
  bool is_direct_ = false;  // no pooler in between, and the search_path is set for the session
};

std::unique_ptr<Connection> connect(const std::string& connection_string, const std::string& program,
                                    IfMissing, milliseconds timeout) {
  return std::make_unique<PostgresqlConnection>(connection_string, program, timeout);
}

}  // namespace

}  // namespace leaf::store::postgresql

extern "C" LEAF_EXPORT const leaf::store::Driver leaf_store_driver;
const leaf::store::Driver leaf_store_driver{
    .built_with = LEAF_VERSION,
    .migrations = &leaf::store::postgresql::migrations,
    .connect = &leaf::store::postgresql::connect,
    .inspect = &leaf::store::postgresql::inspect,
    .query_lines = &leaf::store::postgresql::query_lines,
    .before_fork = &leaf::store::fork_guard::before_fork,
    .after_fork = &leaf::store::fork_guard::after_fork,
};
