#include "store/postgresql/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "leaf/detail/shell_word.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/postgresql/resolver.hpp"
#include "store/redaction.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store::postgresql {

namespace {

struct Meaning {
  ErrorCode code;
  Advice advice;
};

constexpr std::string_view wrong_password = "28P01";
constexpr const char* read_only_hint =
    "name the primary, or all servers as host=A,B; if it is the primary, leave default_transaction_read_only "
    "at its default for this role and database, and out of PGOPTIONS"_hint;
constexpr std::string_view not_let_in = "28000";

/// What helps where one of the store's own functions has refused. They name the commands of leafctl, for
/// those who change the tables by hand; empty where what they say holds for any program.
Advice refusal_advice(std::string_view state) {
  if (state == "LF001") {  // leaf_alloc_guard()
    return advice(
        "raise its limit, or go on with another tag if it has none; or, if no commit was lost and no backup "
        "restored, say so{}"_hint,
        Remedy{Remedy::Kind::settle_failover});
  }
  if (state == "LF003") {  // leaf_require_whole()
    return advice(
        "find out the highest ID of the tag that any host has drawn or buffered, and add it to go on "
        "from a higher one{}"_hint,
        Remedy{Remedy::Kind::add_tag});
  }
  if (state == "LF004") {  // refuse_foreign_objects
    return advice("do this as the role that owns them; or take them over{}, which drops what would run"_hint,
                  Remedy{Remedy::Kind::adopt_objects});
  }
  if (state == "LF006")  // leaf_settle()
    return advice("look again{} before you decide"_hint, Remedy{Remedy::Kind::look_at_failover});
  if (state == "LF007") {  // leaf_worker_in_range(), leaf_meta_workers()
    return advice("see which workers are leased{}, and choose which ones the store leases{}"_hint,
                  Remedy{Remedy::Kind::list_workers}, Remedy{Remedy::Kind::choose_worker_range});
  }
  return {};
}

/// What an SQLSTATE means to a caller. Classes are named by their first two characters.
Meaning meaning_of(std::string_view state) {
  if (state == sqlstate::read_only) return {ErrorCode::unavailable, read_only_hint};
  // What names the server cannot be asked of a standby.
  if (state == "55000") return {ErrorCode::unavailable, read_only_hint};
  if (state == sqlstate::timed_out || state == sqlstate::idle_too_long)
    return {
        ErrorCode::unavailable,
        "a timeout of the server or an administrator ended it; try again, and raise that timeout for this "
        "role and database if it goes on"_hint};
  if (state == "55P03")
    return {ErrorCode::unavailable,
            advice("try again; see who holds a lock{}"_hint, Remedy{Remedy::Kind::check_store})};
  if (state == "40001" || state == "40P01")
    return {ErrorCode::unavailable, "other transactions are in the way; try again"_hint};
  if (state == wrong_password) return {ErrorCode::usage, "check the user and the password (PGPASSFILE)"_hint};
  if (state == not_let_in)
    return {ErrorCode::usage, "check the user (user=NAME), and whom the server's pg_hba.conf lets in"_hint};
  if (state.starts_with("LF")) return {ErrorCode::refused, refusal_advice(state)};
  if (state == "42501") {
    return {ErrorCode::usage, advice("log in as the owner, who can let others draw IDs{}"_hint,
                                     Remedy{Remedy::Kind::grant_role})};
  }
  // The schema's version was looked at before.
  if (state == sqlstate::missing_table || state == sqlstate::missing_schema || state == "42703") {
    return {ErrorCode::refused,
            "find out who moved, dropped or replaced it, and put it back, from a "
            "backup if need be; a new store would repeat IDs"_hint};
  }
  if (state == "42883") {
    return {
        ErrorCode::refused,
        advice("find out who moved or dropped it: what was moved has to go back, and what is gone is made "
               "anew{}"_hint,
               Remedy{Remedy::Kind::upgrade_store})};
  }
  if (state == "23505")  // a key is made anew over rows that came twice, as from a dump
    return {ErrorCode::refused, "remove the rows that have granted less, then try again"_hint};
  if (state.starts_with("23")) {
    return {ErrorCode::refused,
            "find out who has changed constraints or defaults of the table, and undo that"_hint};
  }
  if (state == "53300") {
    return {
        ErrorCode::unavailable,
        "let other sessions end; or raise max_connections, or the CONNECTION LIMIT of the role or database "
        "that is named"_hint};
  }
  if (state == "53100") return {ErrorCode::unavailable, "free some space on the server's disk"_hint};
  if (state == "58P01") {
    return {
        ErrorCode::unavailable,
        "look at the server: the disk of a tablespace may not be mounted, or a library not be installed"_hint};
  }
  if (state == "54000")  // no transaction is begun before old ones are vacuumed away
    return {ErrorCode::unavailable,
            advice("see which database must be vacuumed{}"_hint, Remedy{Remedy::Kind::check_store})};
  if (state == "22P05")  // what no other encoding takes apart from UTF-8 is a description
    return {ErrorCode::usage, "leave out what the database's encoding cannot write"_hint};
  const std::string_view group = state.substr(0, 2);
  if (group == "08" || group == "53" || group == "57" || group == "58") return {ErrorCode::unavailable, ""};
  return {ErrorCode::failed, ""};
}

std::string first_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \n", text.find('\n'));
  return std::string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

/// Whether libpq went as far as to look for a server; if it did not the connection string is at fault.
bool concerns_a_server(std::string_view reason) {
  return reason.starts_with("connection to server") || reason.starts_with("could not connect") ||
         reason.starts_with("could not translate host name") || reason.starts_with("host name");
}

/// Whether nobody listens there, or who listens ends it without a word, as a proxy does: so it is while a
/// server starts again.
bool is_nobody_there(std::string_view reason) {
  return reason.ends_with("Connection refused") || reason.ends_with("No such file or directory") ||
         reason.ends_with("server closed the connection unexpectedly") ||
         reason.ends_with("Connection reset by peer");
}

/// What pgbouncer says, without a code of its own, while it cannot reach the server, which was asked nothing.
bool is_pooler_without_server(std::string_view text) {
  return text.find("server login has been failing") != std::string_view::npos;
}

/// What mends a TLS connection that does not come about; libpq tells of it in words alone.
struct TlsTrouble {
  std::string_view words;
  const char* hint;
};

constexpr const char* name_root_certificate =
    "put the certificate that signed the server's there, or name its file: sslrootcert=FILE"_hint;
constexpr const char* name_own_certificate = "check the files that sslcert=FILE and sslkey=FILE name"_hint;

constexpr TlsTrouble tls_troubles[] = {
    {"root certificate file", name_root_certificate},
    // libpq does not tell why.
    {"certificate verify failed",
     "name the certificate that signed the server's: sslrootcert=FILE; if it is named, see with 'openssl "
     "s_client "
     "-starttls postgres -connect HOST:PORT' whether the server's own has expired, and have that renewed"_hint},
    {"does not match host name", "name the server in host= as its certificate does"_hint},
    {"server does not support SSL", "turn on ssl in the server, or choose another sslmode"_hint},
    {"private key file", name_own_certificate},
    {"could not read certificate file", name_own_certificate},
    {"alert unknown ca", name_own_certificate},
    {"alert certificate", name_own_certificate},
    {"channel binding required",
     "leave out channel_binding=require, or have the server ask for the password by SCRAM, over TLS"_hint},
};

const char* tls_hint(std::string_view reason) {
  const auto* const found = std::ranges::find_if(tls_troubles, [&](const TlsTrouble& trouble) {
    return reason.find(trouble.words) != std::string_view::npos;
  });
  return found == std::end(tls_troubles) ? nullptr : found->hint;
}

/// What a login that failed for `reasons`, one for each server and way that was tried, means at `state`.
Meaning login_meaning(const std::vector<std::string>& reasons, const std::string& state) {
  const auto trouble = std::ranges::find_if(reasons, tls_hint);
  // A server that could not be spoken to in TLS may have refused to be spoken to without.
  if (trouble != reasons.end() && (state.empty() || state == not_let_in)) {
    const bool is_all = !state.empty() || std::ranges::all_of(reasons, tls_hint);
    return {is_all ? ErrorCode::usage : ErrorCode::unavailable, tls_hint(*trouble)};
  }
  if (!state.empty()) return meaning_of(state);
  const auto any_ends_with = [&](std::string_view end) {
    return std::ranges::any_of(reasons, [&](std::string_view reason) { return reason.ends_with(end); });
  };
  // Several hosts were named, and each that answers takes no writes.
  if (any_ends_with("session is read-only") || any_ends_with("server is in hot standby mode"))
    return {ErrorCode::unavailable, read_only_hint};
  if (any_ends_with("session is not read-only") || any_ends_with("server is not in hot standby mode")) {
    return {ErrorCode::usage,
            "leave out target_session_attrs, or set it to read-write: IDs come from the primary alone"_hint};
  }
  return {ErrorCode::unavailable, "check that the server runs, and the host and port"_hint};
}

Meaning missing_database(const PGconn* connection) {
  return {ErrorCode::usage, fmt::format("create it with 'createdb {}', or use another database"_hint,
                                        detail::shell_word(PQdb(connection)))};
}

/// Of a database that lets nobody in.
Meaning closed_database(const PGconn* connection) {
  std::string quoted;
  for (const char c : std::string_view(PQdb(connection))) quoted.append(c == '"' ? 2 : 1, c);
  return {ErrorCode::unavailable,
          fmt::format(
              "if it is to be used, let its owner run 'ALTER DATABASE \"{}\" ALLOW_CONNECTIONS true'"_hint,
              quoted)};
}

constexpr const char* wrong_setting =
    "set it right, or leave it out, in PGOPTIONS and in the store's options"_hint;

/// What a server said, after libpq's own words, in a verbose message: "FATAL:  28P01: TEXT".
struct Said {
  std::string_view state;
  std::string_view text;
};

/// By hand: std::regex takes a piece of the stack for each character, and servers decide how many there are.
std::optional<Said> said_in(std::string_view line) {
  constexpr std::string_view mark = ":  ";
  constexpr std::size_t length = 5;
  for (std::size_t at = line.rfind(mark); at != line.npos && at > 0; at = line.rfind(mark, at - 1)) {
    const std::string_view state = line.substr(at + mark.size(), length);
    const std::string_view rest = line.substr(std::min(line.size(), at + mark.size() + length));
    const bool is_state = state.size() == length && std::ranges::all_of(state, [](char c) {
                            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                          });
    if (is_state && rest.starts_with(": ") && line[at - 1] != ' ') return Said{state, rest.substr(2)};
  }
  return std::nullopt;
}

/// What belongs to the line before. What libpq advises about a certificate, to go without checking it, is
/// left out too.
bool is_detail(std::string_view line) {
  if (line.starts_with(' ') || line.starts_with('\t') || line.starts_with("Either provide the file"))
    return true;
  const std::size_t capitals = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  return capitals != 0 && capitals != line.npos && line[capitals] == ':';
}

/// Whether the server did not take a setting that came with the login: it is unknown, has no such value, or
/// is not the role's to set, which it says `of_settings`.
bool is_about_setting(std::string_view state, bool of_settings) {
  if (state == "22023" || state == "42704" || state == "55P02" || state == "42601") return true;
  return state == sqlstate::insufficient_privilege && of_settings;
}

/// What mends a connection string that libpq did not take, for `reasons`.
const char* malformed_hint(const std::vector<std::string>& reasons) {
  const bool is_service = std::ranges::any_of(reasons, [](std::string_view reason) {
    return reason.starts_with("definition of service") || reason.starts_with("service file");
  });
  return is_service ? "define it in ~/.pg_service.conf, or in the file that PGSERVICEFILE names"_hint
                    : "see 'Connection Strings' in PostgreSQL's libpq manual"_hint;
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

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};

bool is_refused(const std::string& connection_string) {
  return !std::unique_ptr<PQconninfoOption, FreeOptions>(PQconninfoParse(connection_string.c_str(), nullptr));
}

}  // namespace

Error unresolved_error(const std::vector<std::string>& failures, const std::string& connection_string) {
  const std::string found = fmt::format("{}", fmt::join(failures, "; "));
  const std::string reasons = redact_message(found, connection_string, is_refused(connection_string));
  // What was taken for a name may be a piece of a password.
  const bool is_malformed = reasons != found;
  const bool lacks_threads =
      std::ranges::any_of(failures, [](std::string_view failure) { return failure.starts_with(no_thread); });
  return {is_malformed ? ErrorCode::usage : ErrorCode::unavailable,
          fmt::format("cannot connect to store '{}': {}", redact_url(connection_string), reasons),
          is_malformed ? malformed_hint({reasons})
          : lacks_threads
              ? "give the server's address: hostaddr=ADDRESS; or allow more threads: see 'ulimit -a', and "
                "TasksMax= of a service"_hint
              : "check the host's name, or give its address: hostaddr=ADDRESS"_hint,
          sqlstate::unable_to_connect};
}

Error login_error(const PGconn* connection, const std::string& connection_string,
                  const std::vector<std::string>& failures) {
  std::istringstream message(
      redact_message(PQerrorMessage(connection), connection_string, is_refused(connection_string)));
  std::string state;
  bool of_settings = false;          // where it was refused, of the server's source
  std::vector<std::string> reasons;  // one for each server that was tried
  for (const std::string& failure : failures)
    reasons.push_back(redact_message(failure, connection_string, /*is_refused=*/false));
  for (std::string line; std::getline(message, line);) {
    if (const auto said = said_in(line)) {
      // A wrong password may be followed by a second try without TLS, which the server lets nobody in by.
      if (state != wrong_password || said->state != not_let_in) state = said->state;
      if (is_pooler_without_server(said->text)) state = sqlstate::not_yet;
      line = std::string(said->text);
    } else if (is_detail(line)) {
      of_settings = of_settings || line.find(", guc.c:") != line.npos;
      continue;
    }
    if (std::find(reasons.begin(), reasons.end(), line) == reasons.end()) reasons.push_back(line);
  }
  Meaning meaning = is_about_setting(state, of_settings) ? Meaning{ErrorCode::usage, wrong_setting}
                                                         : login_meaning(reasons, state);
  const bool needs_password = state.empty() && PQconnectionNeedsPassword(connection) != 0;
  const bool is_login = needs_password || state.starts_with("28");
  if (state == sqlstate::missing_database) meaning = missing_database(connection);
  if (state == "55000") meaning = closed_database(connection);
  if (needs_password) {
    meaning = meaning_of(wrong_password);
  } else if (state.empty() && std::none_of(reasons.begin(), reasons.end(), concerns_a_server)) {
    meaning = {ErrorCode::usage, malformed_hint(reasons)};
  }
  // As the server says it once it listens again.
  if (state.empty() && meaning.code == ErrorCode::unavailable &&
      std::ranges::any_of(reasons, is_nobody_there))
    state = sqlstate::not_yet;
  if (state.empty()) state = sqlstate::unable_to_connect;
  return {meaning.code,
          fmt::format("cannot {} store '{}': {}", is_login ? "log in to" : "connect to",
                      redact_url(connection_string), fmt::join(reasons, "; ")),
          meaning.advice, state};
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
  if (is_standby == true)
    hint = "this server is a standby: name the primary, or all servers as host=A,B"_hint;
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
