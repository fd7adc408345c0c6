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
  if (is_postgresql_url(url)) return {"postgresql", std::string(url)};
  if (begins_with_keyword(url)) return {"postgresql", std::string(url)};
  throw Error(ErrorCode::usage, fmt::format("store '{}' is of no known kind", redact_url(url)), hint);
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

/// Every `...password = VALUE`, in whatever letters.
std::string without_password_parameters(std::string_view url) {
  constexpr std::string_view key = "password";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  std::string shown;
  while (true) {
    const auto* const found = std::search(url.begin(), url.end(), key.begin(), key.end(), same);
    auto value = static_cast<std::size_t>(found - url.begin());
    if (value == url.size()) return shown.append(url);
    value += key.size();
    while (value < url.size() && store::is_space(url[value])) ++value;
    const bool assigned = value < url.size() && url[value] == '=';
    if (assigned) {
      for (++value; value < url.size() && store::is_space(url[value]);) ++value;
    }
    shown.append(url.substr(0, value));
    url.remove_prefix(value);
    if (!assigned || url.empty()) continue;
    shown.append(mask);
    url.remove_prefix(end_of_value(url));
  }
}

}  // namespace

std::string redact_url(std::string_view url) {
  return without_password_parameters(without_user_password(url));
}

}  // namespace leaf
