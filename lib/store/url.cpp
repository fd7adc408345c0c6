#include "store/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "leaf/error.hpp"
#include "leaf/store.hpp"

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

bool is_postgresql_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

}  // namespace

Url parse_url(std::string_view url) {
  constexpr std::string_view sqlite = "sqlite:";
  constexpr const char* hint =
      "a store is 'sqlite:PATH', 'postgresql://HOST/DATABASE', 'service=NAME' or 'host=... dbname=...'";
  if (url.starts_with(sqlite)) {
    const std::string_view path = url.substr(sqlite.size());
    if (path.empty()) throw Error(ErrorCode::usage, "store 'sqlite:' names no file", hint);
    // SQLite would take these for a private database that is gone when it is closed.
    if (path == ":memory:" || path.starts_with("file:")) {
      throw Error(ErrorCode::usage, fmt::format("store '{}' is not a file that lasts", url), hint);
    }
    return {"sqlite", std::string(path)};
  }
  if (is_postgresql_url(url)) {
    // libpq would take the rest of the password for a host's name, and say so.
    const std::string_view authority = url.substr(0, url.find_first_of("/?#", url.find("://") + 3));
    if (std::count(authority.begin(), authority.end(), '@') > 1) {
      throw Error(ErrorCode::usage, fmt::format("store '{}' has more than one '@'", redact_url(url)),
                  "write an '@' in a user or password as %40, or keep the password in PGPASSFILE");
    }
    return {"postgresql", std::string(url)};
  }
  if (begins_with_keyword(url)) return {"postgresql", std::string(url)};
  throw Error(ErrorCode::usage, fmt::format("store '{}' is of no known kind", redact_url(url)), hint);
}

std::string identity_text(std::string_view url) {
  return std::string(url);
}

}  // namespace store

namespace {

constexpr std::string_view mask = "***";

/// `scheme://user:PASSWORD@...`. The last '@' counts, and no other sign ends it: better too much than a part.
std::string without_user_password(std::string_view url) {
  const auto scheme = url.find("://");
  const auto at = url.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme)
    return std::string(url);
  const auto colon = url.find(':', scheme + 3);
  if (colon > at) return std::string(url);
  return fmt::format("{}{}{}", url.substr(0, colon + 1), mask, url.substr(at));
}

/// Where the value at the begin of `text` ends. A value without quotes that a space cuts goes on where no
/// keyword follows.
std::size_t end_of_value(std::string_view text) {
  std::size_t end = 0;
  if (text.starts_with('\'')) {
    for (end = 1; end < text.size() && text[end] != '\''; ++end) end += text[end] == '\\' ? 1 : 0;
    return std::min(end + 1, text.size());
  }
  while (end < text.size() && text[end] != '&' &&
         !(store::is_space(text[end]) && store::begins_with_keyword(text.substr(end)))) {
    ++end;
  }
  return end;
}

/// Every `...pass... = VALUE` in whatever letters, also where the key is percent-encoded; but for passfile.
std::string without_password_parameters(std::string_view url) {
  const auto is_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%';
  };
  std::string shown;
  while (!url.empty()) {
    const auto sign = url.find('=');
    if (sign == std::string_view::npos) break;
    auto end = sign;
    while (end > 0 && store::is_space(url[end - 1])) --end;
    auto begin = end;
    while (begin > 0 && is_key(url[begin - 1])) --begin;
    std::string key(url.substr(begin, end - begin));
    for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto value = sign + 1;
    while (value < url.size() && store::is_space(url[value])) ++value;
    shown.append(url.substr(0, value));
    url.remove_prefix(value);
    const bool secret =
        (key.find("pass") != std::string::npos && key != "passfile") || key.find('%') != std::string::npos;
    if (!secret || url.empty()) continue;
    shown.append(mask);
    url.remove_prefix(end_of_value(url));
  }
  return shown.append(url);
}

}  // namespace

std::string redact_url(std::string_view url) {
  return without_password_parameters(without_user_password(url));
}

}  // namespace leaf
