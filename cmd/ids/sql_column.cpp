#include "ids/sql_column.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// What neither PostgreSQL nor SQLite takes for a column without quotes; in order.
constexpr std::string_view reserved[] = {"add",
                                         "all",
                                         "alter",
                                         "analyse",
                                         "analyze",
                                         "and",
                                         "any",
                                         "array",
                                         "as",
                                         "asc",
                                         "asymmetric",
                                         "authorization",
                                         "autoincrement",
                                         "between",
                                         "binary",
                                         "both",
                                         "case",
                                         "cast",
                                         "check",
                                         "collate",
                                         "collation",
                                         "column",
                                         "commit",
                                         "concurrently",
                                         "constraint",
                                         "create",
                                         "cross",
                                         "current_catalog",
                                         "current_date",
                                         "current_role",
                                         "current_schema",
                                         "current_time",
                                         "current_timestamp",
                                         "current_user",
                                         "default",
                                         "deferrable",
                                         "delete",
                                         "desc",
                                         "distinct",
                                         "do",
                                         "drop",
                                         "else",
                                         "end",
                                         "escape",
                                         "except",
                                         "exists",
                                         "false",
                                         "fetch",
                                         "for",
                                         "foreign",
                                         "freeze",
                                         "from",
                                         "full",
                                         "grant",
                                         "group",
                                         "having",
                                         "ilike",
                                         "in",
                                         "index",
                                         "initially",
                                         "inner",
                                         "insert",
                                         "intersect",
                                         "into",
                                         "is",
                                         "isnull",
                                         "join",
                                         "lateral",
                                         "leading",
                                         "left",
                                         "like",
                                         "limit",
                                         "localtime",
                                         "localtimestamp",
                                         "natural",
                                         "not",
                                         "nothing",
                                         "notnull",
                                         "null",
                                         "offset",
                                         "on",
                                         "only",
                                         "or",
                                         "order",
                                         "outer",
                                         "overlaps",
                                         "placing",
                                         "primary",
                                         "raise",
                                         "references",
                                         "returning",
                                         "right",
                                         "select",
                                         "session_user",
                                         "set",
                                         "similar",
                                         "some",
                                         "symmetric",
                                         "table",
                                         "tablesample",
                                         "then",
                                         "to",
                                         "trailing",
                                         "transaction",
                                         "true",
                                         "union",
                                         "unique",
                                         "update",
                                         "user",
                                         "using",
                                         "values",
                                         "variadic",
                                         "verbose",
                                         "when",
                                         "where",
                                         "window",
                                         "with"};
static_assert(std::ranges::is_sorted(reserved));

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_reserved(std::string_view part) {
  std::string lower(part);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::ranges::binary_search(reserved, lower);
}

bool is_plain(std::string_view part) {
  return is_letter(part[0]) &&
         std::ranges::all_of(part, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); }) &&
         !is_reserved(part);
}

std::string quoted(std::string_view part) {
  std::string text = "\"";
  for (const char c : part) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

/// The size of the part in double quotes that `text` begins with; npos if it does not end.
std::size_t quoted_size(std::string_view text) {
  std::size_t end = 1;
  while ((end = text.find('"', end)) != std::string_view::npos) {
    if (!text.substr(end + 1).starts_with('"')) return end + 1;
    end += 2;
  }
  return end;
}

}  // namespace

std::string sql_column(std::string_view option, std::string_view name) {
  const auto refuse = [&](std::string_view why) -> leaf::Error {
    return {leaf::ErrorCode::usage, fmt::format("'{}' takes a column, not '{}': {}", option, name, why),
            "write it as in SQL, such as id, orders.id or '\"Order ID\"'"_hint};
  };
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) {
    throw refuse("it has a control character");
  }
  std::string result;
  for (std::string_view rest = name;;) {
    const bool is_quoted = rest.starts_with('"');
    const std::size_t size = is_quoted ? quoted_size(rest) : std::min(rest.find('.'), rest.size());
    if (size == std::string_view::npos) throw refuse("a quote in it is not closed");
    const std::string_view part = rest.substr(0, size);
    if (part.empty() || part == "\"\"") throw refuse("a part of it is empty");
    result += is_quoted || is_plain(part) ? std::string(part) : quoted(part);
    rest.remove_prefix(size);
    if (rest.empty()) return result;
    if (rest[0] != '.') throw refuse("text follows a closing quote");
    result += '.';
    rest.remove_prefix(1);
  }
}

}  // namespace leafctl
