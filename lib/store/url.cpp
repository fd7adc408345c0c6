#include "store/url.hpp"

#include <fmt/format.h>

#include <regex>

#include "leaf/error.hpp"
#include "leaf/store.hpp"

namespace leaf {

namespace store {

namespace {

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
  static const std::regex key_value(R"(^\s*[a-z_]+\s*=[^]*)");
  if (std::regex_match(url.begin(), url.end(), key_value)) return {"postgresql", std::string(url)};
  throw Error(ErrorCode::usage, fmt::format("store '{}' is of no known kind", redact_url(url)), hint);
}

}  // namespace store

std::string redact_url(std::string_view url) {
  // Covers more than the exact syntax does: a password in a malformed URL must not be shown either.
  static const std::regex user_info(R"(^([a-z]+://[^/?#:]*):[^/?#]*@)");
  static const std::regex parameter(
      R"(((?:password|passfile_password|sslpassword)\s*=\s*)('(?:[^'\\]|\\[^])*'?|[^\s&]+))",
      std::regex::icase);
  const std::string without_user_info = std::regex_replace(std::string(url), user_info, "$1:***@");
  return std::regex_replace(without_user_info, parameter, "$1***");
}

}  // namespace leaf
