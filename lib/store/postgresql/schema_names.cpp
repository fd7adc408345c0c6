#include "store/postgresql/schema_names.hpp"

#include "store/dollar_quotes.hpp"

namespace leaf::store::postgresql {

namespace {

/// As it stands within a literal.
std::string quoted(const std::string& schema) {
  std::string text;
  for (const char c : schema) text.append(c == '\'' ? 2 : 1, c);
  return text;
}

/// Puts `schema` before each name that begins with `prefix`, of which it takes the place of `replaced`
/// characters.
std::string led(std::string_view text, std::string_view prefix, std::size_t replaced,
                const std::string& schema) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos;
       at = text.find(prefix, at + prefix.size())) {
    result += text.substr(done, at - done);
    result += at > 0 && text[at - 1] == '\'' ? quoted(schema) : schema;
    done = at + replaced;
  }
  return result.append(text.substr(done));
}

}  // namespace

std::string in_schema(std::string_view statement, const std::string& schema) {
  return led(statement, "leaf_", 0, schema);
}

std::string migration_in_schema(std::string_view migration, const std::string& schema) {
  constexpr std::string_view placeholder = "leaf.";
  return led(apart_from(migration, schema), placeholder, placeholder.size(), schema);
}

}  // namespace leaf::store::postgresql
