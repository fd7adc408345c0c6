#include "support/sql_session.hpp"

#include <stdexcept>

namespace leaf::test {

namespace {

struct Clear {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

void require_done(const PGresult* result, const std::string& statement) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return;
  throw std::runtime_error(std::string(PQresultErrorMessage(result)) + "in: " + statement);
}

void ignore(void*, const PGresult*) {}

}  // namespace

SqlSession::SqlSession(const std::string& connection_string)
    : connection_(PQconnectdb(connection_string.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK)
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  PQsetNoticeReceiver(connection_.get(), ignore, nullptr);
}

void SqlSession::run(const std::string& statements) {
  require_done(Result(PQexec(connection_.get(), statements.c_str())).get(), statements);
}

SqlSession::Rows SqlSession::rows(const std::string& query, const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const Result result(PQexecParams(connection_.get(), query.c_str(), static_cast<int>(values.size()), nullptr,
                                   values.data(), nullptr, nullptr, 0));
  require_done(result.get(), query);
  Rows rows;
  for (int i = 0; i < PQntuples(result.get()); ++i) {
    auto& row = rows.emplace_back();
    for (int j = 0; j < PQnfields(result.get()); ++j) row.emplace_back(PQgetvalue(result.get(), i, j));
  }
  return rows;
}

std::string SqlSession::value(const std::string& query, const std::vector<std::string>& parameters) {
  const Rows found = rows(query, parameters);
  if (found.size() != 1 || found[0].size() != 1) throw std::runtime_error("not one value: " + query);
  return found[0][0];
}

}  // namespace leaf::test
