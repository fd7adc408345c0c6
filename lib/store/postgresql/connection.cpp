#include "store/connection.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <array>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/postgresql/errors.hpp"
#include "store/postgresql/migrations.hpp"
#include "store/postgresql/session.hpp"
#include "store/postgresql/sql.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct FreeCancel {
  void operator()(PGcancel* cancel) const noexcept { PQfreeCancel(cancel); }
};

class PostgresqlConnection final : public Connection {
 public:
  PostgresqlConnection(const std::string& connection_string, milliseconds timeout)
      : session_(log_in(connection_string, steady_clock::now() + timeout)) {
    PQsetNoticeReceiver(session_.get(), &PostgresqlConnection::note, this);
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
    // Unnamed, and parsed anew each time: a pooler may give the next statement to another server connection.
    const int sent = PQsendQueryParams(session_.get(), statement, static_cast<int>(values.size()), nullptr,
                                       values.data(), nullptr, nullptr, /*resultFormat=*/0);
    auto rows = finish(sent, steady_clock::now() + timeout);
    // The row is only worth something once the commit is known: neither may the transaction still be open,
    // nor may the server have warned, as it does when it gave up waiting for a synchronous standby.
    if (PQtransactionStatus(session_.get()) != PQTRANS_IDLE) {
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
      }
    }
    if (PQstatus(session_.get()) != CONNECTION_OK)
      throw error && !error->sqlstate().empty() ? *error : lost();
    if (error) {
      // A standby, or a server that is shutting down: the next attempt has to look for another one.
      if (error->sqlstate() == sqlstate::read_only || error->sqlstate().starts_with("57P")) usable_ = false;
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

  Error lost() {
    usable_ = false;
    return lost_connection(session_.get());
  }

  Error timed_out() {
    usable_ = false;
    cancel();
    return {ErrorCode::unavailable, "the store did not answer in time",
            "try again, or allow more time with --timeout", sqlstate::timed_out};
  }

  /// Asks the server to stop waiting, so that abandoned statements do not pile up behind a lock. Not done
  /// where the server has not even taken the statement in: libpq would wait for a dead host without end.
  void cancel() noexcept {
    int not_taken_in = 0;
    if (ioctl(PQsocket(session_.get()), SIOCOUTQ, &not_taken_in) != 0 || not_taken_in != 0) return;
    const std::unique_ptr<PGcancel, FreeCancel> request(PQgetCancel(session_.get()));
    std::array<char, 256> ignored{};
    if (request) PQcancel(request.get(), ignored.data(), static_cast<int>(ignored.size()));
  }

  Session session_;
  std::string warning_;
  bool usable_ = true;
};

std::unique_ptr<Connection> connect(const std::string& connection_string, IfMissing, milliseconds timeout) {
  return std::make_unique<PostgresqlConnection>(connection_string, timeout);
}

}  // namespace

}  // namespace leaf::store::postgresql

extern "C" LEAF_EXPORT const leaf::store::Driver leaf_store_driver;
const leaf::store::Driver leaf_store_driver{
    .library_version = LEAF_VERSION,
    .migrations = leaf::store::postgresql::migrations(),
    .connect = &leaf::store::postgresql::connect,
};
