#include "store/connection.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/postgresql/errors.hpp"
#include "store/postgresql/health.hpp"
#include "store/postgresql/migrations.hpp"
#include "store/postgresql/session.hpp"
#include "store/postgresql/sql.hpp"

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
  PostgresqlConnection(const std::string& connection_string, milliseconds timeout)
      : session_(log_in(connection_string, steady_clock::now() + timeout)) {
    PQsetNoticeReceiver(session_.get(), &PostgresqlConnection::note, this);
    PQsetnonblocking(session_.get(), 1);
  }

  const Sql& sql() const noexcept override { return postgresql::sql; }

  std::vector<Row> execute(const char* statement, std::span<const Value> parameters,
                           milliseconds timeout) override {
    std::vector<std::string> texts;
    texts.reserve(parameters.size());
    std::vector<const char*> values;
    for (const Value& value : parameters) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        values.push_back(texts.emplace_back(std::to_string(*number)).c_str());
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        values.push_back(text->c_str());
      } else {
        values.push_back(nullptr);
      }
    }
    const auto before = PQtransactionStatus(session_.get());
    auto rows = run(statement, values, steady_clock::now() + timeout);
    // The row is only worth something once the commit is known: neither may the statement have opened a
    // transaction, nor may the server have warned, as it does when it gave up waiting for a standby.
    if (PQtransactionStatus(session_.get()) != before) {
      usable_ = false;
      throw Error(ErrorCode::failed, "the store left a transaction open", "", sqlstate::connection_lost);
    }
    if (!warning_.empty()) {
      throw Error(ErrorCode::unavailable, fmt::format("the store warned: {}", warning_),
                  "look at the server's log; synchronous replication may have failed", sqlstate::warning);
    }
    return rows;
  }

  void run_script(const std::string& script, milliseconds timeout) override {
    finish(PQsendQuery(session_.get(), script.c_str()), steady_clock::now() + timeout);
  }

  bool usable() const noexcept override { return usable_ && PQstatus(session_.get()) == CONNECTION_OK; }

 private:
  static void note(void* self, const PGresult* notice) {
    const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == nullptr || std::string_view(severity) != "WARNING") return;
    const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    static_cast<PostgresqlConnection*>(self)->warning_ = text != nullptr ? text : "(no text)";
  }

  std::vector<Row> run(const char* statement, const std::vector<const char*>& values, Deadline deadline) {
    if (worth_preparing(statement, deadline)) {
      try {
        return run_prepared(statement, values, deadline);
      } catch (const Error& error) {
        if (!lost_preparation(error)) throw;
        may_prepare_ = false;  // nothing was done yet; from now on as behind a pooler
      }
    }
    return finish(PQsendQueryParams(session_.get(), statement, static_cast<int>(values.size()), nullptr,
                                    values.data(), nullptr, nullptr, /*resultFormat=*/0),
                  deadline);
  }

  /// Parsing and planning are two thirds of a grant's cost to the server, but a prepared statement needs a
  /// server process that stays the same: a pooler may give the next statement to another one.
  bool worth_preparing(const char* statement, Deadline deadline) {
    if (!may_prepare_ || PQtransactionStatus(session_.get()) != PQTRANS_IDLE) return false;
    const int use = ++uses_[statement];
    if (use == prepare_at_use && !direct_) {
      // A pooler makes up the process ID that it shows at login.
      const auto rows = finish(PQsendQuery(session_.get(), "SELECT pg_backend_pid()"), deadline);
      direct_ = rows.at(0).integer(0) == PQbackendPID(session_.get());
      may_prepare_ = *direct_;
    }
    return may_prepare_ && use >= prepare_at_use;
  }

  std::vector<Row> run_prepared(const char* statement, const std::vector<const char*>& values,
                                Deadline deadline) {
    std::string& name = prepared_[statement];
    if (name.empty()) {
      const std::string new_name = fmt::format("leaf_{}", prepared_.size());
      finish(PQsendPrepare(session_.get(), new_name.c_str(), statement, 0, nullptr), deadline);
      name = new_name;
    }
    return finish(PQsendQueryPrepared(session_.get(), name.c_str(), static_cast<int>(values.size()),
                                      values.data(), nullptr, nullptr, /*resultFormat=*/0),
                  deadline);
  }

  /// Whether a statement failed only because it was prepared: it is gone, was there already, or the table has
  /// other types since.
  static bool lost_preparation(const Error& error) {
    return error.sqlstate() == "26000" || error.sqlstate() == "42P05" || error.sqlstate() == "0A000";
  }

  /// Collects every result up to the last one, since an error may follow a row.
  std::vector<Row> finish(int sent, Deadline deadline) {
    warning_.clear();
    if (sent == 0) throw lost();
    flush(deadline);
    std::vector<Row> rows;
    std::optional<Error> error;
    for (Result result = next_result(deadline); result; result = next_result(deadline)) {
      switch (PQresultStatus(result.get())) {
        case PGRES_TUPLES_OK:
          for (int i = 0; i < PQntuples(result.get()); ++i) rows.push_back(row_of(result.get(), i));
          break;
        case PGRES_COMMAND_OK:
          break;
        default:
          if (!error) error = statement_error(result.get());
          if (is_fatal(result.get())) throw ended(*error);
      }
    }
    if (PQstatus(session_.get()) != CONNECTION_OK) throw lost();
    if (error) {
      // A standby, or a pooler that lost its server: the next attempt has to look anew.
      if (error->sqlstate() == sqlstate::read_only || error->sqlstate().starts_with("08")) usable_ = false;
      throw Error(*error);
    }
    return rows;
  }

  void flush(Deadline deadline) {
    for (int left = PQflush(session_.get()); left != 0; left = PQflush(session_.get())) {
      if (left < 0) throw lost();
      if (!wait_for_socket(session_.get(), /*for_writing=*/true, deadline)) throw timed_out();
      if (PQconsumeInput(session_.get()) == 0) throw lost();
    }
  }

  Result next_result(Deadline deadline) {
    while (PQisBusy(session_.get()) != 0) {
      if (!wait_for_socket(session_.get(), /*for_writing=*/false, deadline)) throw timed_out();
      if (PQconsumeInput(session_.get()) == 0) throw lost();
    }
    return Result(PQgetResult(session_.get()));
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
            "try again, or allow more time with --timeout", sqlstate::timed_out};
  }

  Session session_;
  std::string warning_;
  bool usable_ = true;
  std::map<const char*, int> uses_;
  std::map<const char*, std::string> prepared_;  // statement to name
  std::optional<bool> direct_;                   // no pooler in between; not known at first
  bool may_prepare_ = true;
};

std::unique_ptr<Connection> connect(const std::string& connection_string, IfMissing, milliseconds timeout) {
  return std::make_unique<PostgresqlConnection>(connection_string, timeout);
}

}  // namespace

}  // namespace leaf::store::postgresql

extern "C" LEAF_EXPORT const leaf::store::Driver leaf_store_driver;
const leaf::store::Driver leaf_store_driver{
    .built_with = LEAF_VERSION,
    .migrations = leaf::store::postgresql::migrations(),
    .connect = &leaf::store::postgresql::connect,
    .inspect = &leaf::store::postgresql::inspect,
};
