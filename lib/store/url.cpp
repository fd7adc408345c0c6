#include "store/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/conninfo.hpp"
#include "store/redaction.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace store {

namespace {

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// True for `keyword =...`, as in a libpq connection string.
bool begins_with_keyword(std::string_view text) {
  const auto is_key = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto* const key = std::find_if_not(text.begin(), text.end(), is_space);
  const auto* const end = std::find_if_not(key, text.end(), is_key);
  const auto* const sign = std::find_if_not(end, text.end(), is_space);
  return end != key && sign != text.end() && *sign == '=';
}

/// How a connection is kept and what it is called; none of these leads to another server, database or table.
constexpr std::array<std::string_view, 9> leading_nowhere{
    "application_name", "client_encoding",     "connect_timeout", "fallback_application_name", "keepalives",
    "keepalives_count", "keepalives_interval", "keepalives_idle", "tcp_user_timeout"};

bool leads_somewhere(std::string_view keyword) {
  return !is_secret(keyword) && std::ranges::find(leading_nowhere, keyword) == leading_nowhere.end();
}

constexpr std::string_view sqlite = "sqlite:";

bool is_like_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with('.') || text.ends_with(".db") || text.ends_with(".sqlite");
}

/// Of a URL whose type nobody knows, `TYPE:...`.
Error unknown_type(std::string_view url, std::size_t colon, const char* hint) {
  const std::string what = fmt::format("unknown store type '{}'", url.substr(0, colon));
  const std::string meant = meant_url(url);
  const bool may_be_shown = !meant.empty() && redact(url) == url;
  return {ErrorCode::usage, what, may_be_shown ? fmt::format("did you mean '{}'?"_hint, meant) : hint};
}

}  // namespace

Url parse_url(std::string_view url) {
  constexpr const char* hint =
      "a store is 'sqlite:PATH', 'postgresql://HOST/DATABASE', 'service=NAME' or 'host=... dbname=...'"_hint;
  // What comes behind it would be left out.
  if (url.find('\0') != std::string_view::npos)
    throw Error(ErrorCode::usage, "the store's URL holds a zero byte", hint);
  if (url.starts_with(sqlite)) {
    const std::string_view path = url.substr(sqlite.size());
    if (path.empty()) throw Error(ErrorCode::usage, "store 'sqlite:' names no file", hint);
    // SQLite would take these for a private database that is gone when it is closed.
    if (path == ":memory:" || path.starts_with("file:")) {
      throw Error(ErrorCode::usage, fmt::format("store '{}' is not a file that lasts", url), hint);
    }
    return {"sqlite", std::string(path)};
  }
  if (uri_prefix_length(url) > 0) {
    // libpq would take the rest of a password for a host's or a database's name, and say so.
    if (has_stray_at(url)) {
      throw Error(
          ErrorCode::usage, fmt::format("store '{}' has an '@' where none is expected", redact(url)),
          "write '@' as %40, ':' as %3A and '/' as %2F in names and passwords, or keep the password in "
          "PGPASSFILE"_hint);
    }
    return {"postgresql", std::string(url)};
  }
  if (begins_with_keyword(url)) return {"postgresql", std::string(url)};
  if (const auto colon = end_of_type(url)) throw unknown_type(url, *colon, hint);
  const std::string what = fmt::format("store '{}' is of an unknown type", redact(url));
  if (is_like_path(url) && redact(url) == url) {
    throw Error(ErrorCode::usage, what,
                fmt::format("for a SQLite file, write '{}'"_hint,
                            detail::shell_word(fmt::format("{}{}", sqlite, url))));
  }
  throw Error(ErrorCode::usage, what, hint);
}

std::string absolute_url(const std::string& url) {
  const Url parsed = parse_url(url);
  if (parsed.driver != "sqlite" || parsed.target.starts_with('/')) return url;
  std::error_code failed;
  const auto path = std::filesystem::absolute(parsed.target, failed);
  return failed ? url : std::string(sqlite) + path.string();
}

std::string identity_text(std::string_view url) {
  if (url.starts_with(sqlite)) return std::string(url);
  const auto parameters = parse_conninfo(url);
  if (!parameters) return "unparsed:" + std::string(url);
  std::map<std::string_view, std::string_view> in_order;
  for (const Parameter& parameter : *parameters) {
    if (leads_somewhere(parameter.keyword)) in_order[parameter.keyword] = parameter.value;
  }
  std::string text = "postgresql:";
  for (const auto& [keyword, value] : in_order) {
    // Each start comes by: without fmt it does not touch its library.
    text.append(keyword)
        .append("=")
        .append(std::to_string(value.size()))
        .append(":")
        .append(value)
        .append(";");
  }
  return text;
}

}  // namespace store

std::string redact_url(std::string_view url) {
  return store::redact(url);
}

}  // namespace leaf
