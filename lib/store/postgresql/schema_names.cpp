#include "store/postgresql/schema_names.hpp"

#include <cctype>

namespace leaf::store::postgresql {

namespace {

constexpr std::string_view prefix = "leaf_";

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// As it stands within a literal.
std::string quoted(const std::string& schema) {
  std::string text;
  for (const char c : schema) text.append(c == '\'' ? 2 : 1, c);
  return text;
}

}  // namespace

std::string in_schema(std::string_view statement, const std::string& schema) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t at = statement.find(prefix); at != std::string_view::npos;
       at = statement.find(prefix, at + prefix.size())) {
    const char before = at == 0 ? ' ' : statement[at - 1];
    if (is_part_of_name(before)) continue;
    text += statement.substr(done, at - done);
    text += before == '\'' ? quoted(schema) : schema;
    done = at;
  }
  return text.append(statement.substr(done));
}

}  // namespace leaf::store::postgresql
