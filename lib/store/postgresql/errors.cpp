#include "store/postgresql/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "store/postgresql/meaning.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store::postgresql {

namespace {

std::string first_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \n", text.find('\n'));
  return std::string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

/// Whether the table of changes is gone: a query says so, in the server's language, or the triggers that
/// write there.
bool is_about_events(std::string_view state, std::string_view text) {
  constexpr std::string_view table = "leaf_event";
  if (text.starts_with("no table leaf_event ")) return true;
  const std::size_t at = text.find(table);
  if (state != sqlstate::missing_table || at == text.npos) return false;
  const std::string_view rest = text.substr(at + table.size());
  return rest.empty() || (rest[0] != '_' && std::isalnum(static_cast<unsigned char>(rest[0])) == 0);
}

/// The function that has failed, by what PostgreSQL says of where, if it is none of the store's: a trigger or
/// an event trigger ran it. Empty: there is none.
std::string function_of_others(std::string_view context) {
  while (!context.empty()) {
    const std::string_view line = context.substr(0, context.find('\n'));
    context.remove_prefix(std::min(line.size() + 1, context.size()));
    const auto open = line.find('('), close = line.find(')', open);
    // The first one that is named has failed; a block without a name is a migration's.
    if (line.find("PL/pgSQL") == line.npos || close == line.npos) continue;
    const std::string_view name = line.substr(0, open);
    const auto begin = name.find_last_of(' ') + 1;
    const bool is_own = name.substr(name.find_last_of(" .") + 1).starts_with("leaf_");
    return is_own ? "" : std::string(line.substr(begin, close + 1 - begin));
  }
  return {};
}

}  // namespace

void require_only_table(const Row& found) {
  const std::string hint =
      "name the store's own schema alone: options='-c search_path=SCHEMA' in its URL, or ALTER ROLE ... SET "
      "search_path"_hint;
  if (found.integer(2) == 0) {
    throw Error(
        ErrorCode::refused, fmt::format("'{}.leaf_meta' is not a table of a store", found.text(0)),
        fmt::format(
            "{}; if it lies there, find out who put it in the place of the table, and put that back"_hint,
            hint));
  }
  if (found.is_null(3)) return;
  throw Error(ErrorCode::refused,
              fmt::format("schemas '{}' and '{}' both have a leaf_meta, of different owners", found.text(0),
                          found.text(3)),
              hint);
}

Error statement_error(const PGresult* result) {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string(text != nullptr ? text : "");
  };
  std::string state = field(PG_DIAG_SQLSTATE);
  std::string text = first_line(field(PG_DIAG_MESSAGE_PRIMARY));
  if (text.empty()) text = first_line(PQresultErrorMessage(result));
  if (is_pooler_without_server(text)) state = sqlstate::not_yet;
  if (state == sqlstate::not_durable) {
    const bool may_be_lost = text.starts_with("commits may be lost");  // by one of two settings
    return {ErrorCode::refused, text,
            may_be_lost ? lost_commits_advice() : first_line(field(PG_DIAG_MESSAGE_HINT)), state};
  }
  const Meaning meaning = meaning_of(state);
  if ((state == sqlstate::missing_table || state == sqlstate::insufficient_privilege) &&
      is_about_events(state, text))
    return {ErrorCode::refused, fmt::format("the store refused: {}", text), make_events_anew(), state};
  if (state == "23505" && text.find("leaf_event_pkey") != std::string::npos) {
    return {
        ErrorCode::refused, fmt::format("the store refused: {}", text),
        "if the tables came here by logical replication, run 'SELECT "
        "setval(pg_get_serial_sequence($$leaf_event$$, $$event_id$$), max(event_id)) FROM leaf_event'"_hint,
        state};
  }
  if (state == "08P01" && text.find("replication connection") != std::string::npos)
    return {ErrorCode::usage, fmt::format("the store refused: {}", text),
            "leave 'replication' out of the store's URL or service"_hint};
  // Of a published table whose rows have no replica identity.
  if (field(PG_DIAG_SOURCE_FUNCTION) == "CheckCmdReplicaIdentity") {
    return {
        ErrorCode::refused, fmt::format("the store refused: {}", text),
        "run 'ALTER TABLE ... REPLICA IDENTITY FULL' for that table, or take it out of the publication"_hint,
        state};
  }
  const std::string function = function_of_others(field(PG_DIAG_CONTEXT));
  if (meaning.code != ErrorCode::unavailable && !function.empty()) {
    return {ErrorCode::refused, fmt::format("the store refused: {}", text),
            fmt::format("it is function {} that fails, which a trigger or event trigger runs that is not the "
                        "store's: mend it, or disable that trigger"_hint,
                        function),
            state};
  }
  const bool is_told = !meaning.advice.hint.empty();
  return {meaning.code, fmt::format("the store refused: {}", text),
          is_told ? meaning.advice : first_line(field(PG_DIAG_MESSAGE_HINT)), state};
}

Error read_only_error(const Error& error, std::optional<bool> is_standby) {
  const char* hint = read_only_hint;
  if (is_standby == true) {
    hint =
        "this server is a standby: name the primary, or all servers as host=A,B with "
        "target_session_attrs=read-write"_hint;
  }
  if (is_standby == false) {
    hint =
        "leave default_transaction_read_only at its default for this role and "
        "database, and out of PGOPTIONS"_hint;
  }
  return {error.code(), error.what(), hint, error.sqlstate()};
}

bool is_missing_table(const Error& error) {
  return error.sqlstate() == sqlstate::missing_table || error.sqlstate() == sqlstate::missing_schema;
}

bool is_fatal(const PGresult* result) {
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity != nullptr &&
         (std::string_view(severity) == "FATAL" || std::string_view(severity) == "PANIC");
}

Error lost_connection(const PGconn* connection) {
  const std::string reason = first_line(PQerrorMessage(connection));
  // pgbouncer's words, which come without a code; a single statement it lets pass.
  if (reason.find("statement pooling mode") != std::string::npos) {
    return {ErrorCode::usage, fmt::format("the pooler refused: {}", reason),
            "name the server itself, or a pooler that keeps a connection for a transaction"_hint};
  }
  return {ErrorCode::unavailable, fmt::format("the connection to the store broke: {}", reason),
          "try again"_hint, is_pooler_without_server(reason) ? sqlstate::not_yet : sqlstate::connection_lost};
}

}  // namespace leaf::store::postgresql
