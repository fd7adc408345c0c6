#include "store/postgresql/login_errors.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "leaf/detail/shell_word.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/postgresql/meaning.hpp"
#include "store/postgresql/resolver.hpp"
#include "store/redaction.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::store::postgresql {

namespace {

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

/// Whether no name server has answered, or it could not find out: so it is while that one starts again.
bool is_no_name_server_there(std::string_view reason) {
  return reason.ends_with(gai_strerror(EAI_AGAIN));
}

/// Whether this process has too little of it; libpq tells of that in words alone.
bool lacks_memory(std::string_view reason) {
  return reason.ends_with("out of memory");
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

/// Of a database that lets nobody in, for `reasons`.
Meaning closed_database(const PGconn* connection, const std::vector<std::string>& reasons) {
  std::string quoted;
  for (const char c : std::string_view(PQdb(connection))) quoted.append(c == '"' ? 2 : 1, c);
  if (std::ranges::any_of(reasons, [](const std::string& reason) {
        return reason.find("invalid database") != std::string::npos;
      })) {
    return {ErrorCode::usage,
            fmt::format(
                "a DROP DATABASE that was interrupted has left it behind: let its owner run 'DROP DATABASE "
                "\"{}\"', then restore it, or use another"_hint,
                quoted)};
  }
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
  // As in a container that runs as any user.
  const bool lacks_user = std::ranges::any_of(
      reasons, [](std::string_view reason) { return reason.starts_with("local user with ID "); });
  return is_service   ? "define it in ~/.pg_service.conf, or in the file that PGSERVICEFILE names"_hint
         : lacks_user ? "name the role to log in as: user=NAME in the store's URL, or PGUSER"_hint
                      : "see 'Connection Strings' in PostgreSQL's libpq manual"_hint;
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
          : std::ranges::any_of(failures, lacks_memory)
              ? shortage_hint(ENOMEM)
              : "check the host's name, or give its address: hostaddr=ADDRESS"_hint,
          std::ranges::any_of(failures, is_no_name_server_there) ? sqlstate::not_yet
                                                                 : sqlstate::unable_to_connect};
}

Error login_error(const PGconn* connection, const std::string& connection_string,
                  const std::vector<std::string>& failures) {
  std::istringstream message(
      redact_message(PQerrorMessage(connection), connection_string, is_refused(connection_string)));
  message.exceptions(std::ios::badbit);  // else a lack of memory ends what it reads
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
  if (state == "55000") meaning = closed_database(connection, reasons);
  if (needs_password) {
    meaning = meaning_of(wrong_password);
  } else if (state.empty() && std::ranges::any_of(reasons, lacks_memory)) {
    meaning = {ErrorCode::unavailable, shortage_hint(ENOMEM)};
  } else if (state.empty() && std::none_of(reasons.begin(), reasons.end(), concerns_a_server)) {
    meaning = {ErrorCode::usage, malformed_hint(reasons)};
  }
  // As the server says it once it listens again.
  if (state.empty() && meaning.code == ErrorCode::unavailable &&
      (std::ranges::any_of(reasons, is_nobody_there) ||
       std::ranges::any_of(failures, is_no_name_server_there)))
    state = sqlstate::not_yet;
  if (state.empty()) state = sqlstate::unable_to_connect;
  return {meaning.code,
          fmt::format("cannot {} store '{}': {}", is_login ? "log in to" : "connect to",
                      redact_url(connection_string), fmt::join(reasons, "; ")),
          meaning.advice, state};
}

}  // namespace leaf::store::postgresql
