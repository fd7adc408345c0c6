#include "store/libpq_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "leaf/error.hpp"
#include "store/conninfo.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

struct Variable {
  const char* name;
  const char* keyword;  ///< of the connection string, which wins; null: none does
};

constexpr Variable variables[] = {{"PGHOST", "host"},
                                  {"PGHOSTADDR", "hostaddr"},
                                  {"PGPORT", "port"},
                                  {"PGDATABASE", "dbname"},
                                  {"PGUSER", "user"},
                                  {"PGSERVICE", "service"},
                                  {"PGSERVICEFILE", nullptr},
                                  {"PGSYSCONFDIR", nullptr},
                                  {"PGOPTIONS", "options"},
                                  {"PGTARGETSESSIONATTRS", "target_session_attrs"},
                                  {"PGLOADBALANCEHOSTS", "load_balance_hosts"},
                                  // The resolver's, for host names.
                                  {"LOCALDOMAIN", nullptr},
                                  {"HOSTALIASES", nullptr}};

std::optional<std::string> variable_of_this_process(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

/// The line of `name` in what libpq_variables() gave; empty if there is none.
std::string_view line_of(const char* name, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::string_view found = line.substr(0, line.find('='));
    if (found == name) return line;
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return {};
}

}  // namespace

std::string libpq_variables(const std::function<std::optional<std::string>(const char*)>& variable) {
  std::string result;
  for (const Variable& known : variables) {
    if (const auto value = variable(known.name)) result += fmt::format("{}={}\n", known.name, *value);
  }
  return result;
}

std::string libpq_variables() {
  return libpq_variables(variable_of_this_process);
}

void require_same_variables(const std::string& conninfo, const std::string& named_by) {
  const std::string now = libpq_variables();
  if (now == named_by) return;
  const auto parameters = parse_conninfo(conninfo).value_or(std::vector<Parameter>());
  for (const Variable& variable : variables) {
    if (line_of(variable.name, now) == line_of(variable.name, named_by)) continue;
    const bool is_named =
        variable.keyword != nullptr &&
        std::ranges::find(parameters, variable.keyword, &Parameter::keyword) != parameters.end();
    if (is_named) continue;
    throw Error(ErrorCode::usage,
                fmt::format("the variable {} has changed since this program named the store", variable.name),
                "set it before the store is opened, or put its value in the store's URL"_hint);
  }
}

}  // namespace leaf::store
