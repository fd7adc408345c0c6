#include "store/postgresql/query.hpp"

#include <fmt/format.h>

#include <string_view>

#include "leaf/error.hpp"
#include "store/postgresql/errors.hpp"
#include "store/postgresql/session.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::steady_clock;

/// Why a query of the user's own failed: what statement_error() knows is of a store's tables.
Error query_error(const PGresult* result) {
  const auto field = [&](int code) -> std::string {
    const char* text = PQresultErrorField(result, code);
    return text != nullptr ? text : "";
  };
  const std::string state = field(PG_DIAG_SQLSTATE);
  const std::string group = state.substr(0, 2);
  const bool is_mistake = group == "42" || group == "25" || group == "0A" || group == "3D";
  const bool may_pass = group == "08" || group == "40" || group == "53" || group == "57";
  return {is_mistake ? ErrorCode::usage
          : may_pass ? ErrorCode::unavailable
                     : ErrorCode::failed,
          fmt::format("the query failed: {}", field(PG_DIAG_MESSAGE_PRIMARY)),
          {},
          state};
}

struct FreeCopied {
  void operator()(char* text) const noexcept { PQfreemem(text); }
};

class Query final : public detail::QueryLines {
 public:
  Query(const std::string& connection_string, std::string_view query, const std::string& program,
        std::chrono::milliseconds timeout)
      : session_(log_in(connection_string, program, steady_clock::now() + timeout)) {
    // Whoever asks for the IDs changes nothing, whatever the query calls.
    require(run("BEGIN READ ONLY"), PGRES_COMMAND_OK);
    const auto end = query.find_last_not_of("; \t\r\n");
    const Result result = run(fmt::format("COPY ({}\n) TO STDOUT", query.substr(0, end + 1)));
    require(result, PGRES_COPY_OUT);
    if (PQnfields(result.get()) != 1) {
      throw Error(ErrorCode::usage,
                  fmt::format("the query gives {} columns, not one", PQnfields(result.get())));
    }
  }

  std::string_view next_lines() override {
    constexpr std::size_t enough = 64UL * 1024;
    lines_.clear();
    while (!is_over_ && lines_.size() < enough) {
      char* row = nullptr;
      const int size = PQgetCopyData(session_.get(), &row, /*async=*/0);
      const std::unique_ptr<char, FreeCopied> freed(row);
      if (size > 0) {
        lines_.append(row, static_cast<std::size_t>(size));
      } else {
        is_over_ = true;
        if (size < -1) throw lost_connection(session_.get());
        require(Result(PQgetResult(session_.get())), PGRES_COMMAND_OK);
      }
    }
    return lines_;
  }

 private:
  Result run(const std::string& statement) { return Result(PQexec(session_.get(), statement.c_str())); }

  void require(const Result& result, ExecStatusType status) {
    if (!result) throw lost_connection(session_.get());
    if (PQresultStatus(result.get()) == status) return;
    if (PQstatus(session_.get()) != CONNECTION_OK) throw lost_connection(session_.get());
    throw query_error(result.get());
  }

  Session session_;
  std::string lines_;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<detail::QueryLines> query_lines(const std::string& connection_string,
                                                const std::string& query, const std::string& program,
                                                std::chrono::milliseconds timeout) {
  return std::make_unique<Query>(connection_string, query, program, timeout);
}

}  // namespace leaf::store::postgresql
