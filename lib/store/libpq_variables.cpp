#include "store/libpq_variables.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "leaf/error.hpp"
#include "store/conninfo.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

struct Variable {
  const char* name;
  const char* keyword;  ///< of the connection string, which wins; null: none does
};

/// Not a variable: libpq takes this user's name where no user, or no database, is named.
constexpr const char* effective_user = "EUID";
/// Where the service file is, unless PGSERVICEFILE names it.
constexpr const char* home = "HOME";

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
                                  {home, nullptr},
                                  {effective_user, nullptr},
                                  // The resolver's, for host names.
                                  {"LOCALDOMAIN", nullptr},
                                  {"HOSTALIASES", nullptr},
                                  {"RES_OPTIONS", nullptr}};

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

/// As libpq has it, also without HOME.
std::optional<std::string> home_folder(std::string_view lines) {
  if (auto folder = libpq_variable(home, lines)) return folder;
  char names[4096];
  passwd entry{};
  passwd* found = nullptr;
  const auto user = static_cast<uid_t>(
      std::strtoul(libpq_variable(effective_user, lines).value_or("").c_str(), nullptr, 10));
  if (getpwuid_r(user, &entry, names, sizeof names, &found) != 0 || found == nullptr) return std::nullopt;
  return found->pw_dir;
}

/// Whether a change of `variable` alone leads nowhere else, given the other `lines`.
bool is_settled(const Variable& variable, const std::vector<Parameter>& parameters, std::string_view lines) {
  const auto is_named = [&](const char* keyword) {
    return std::ranges::find(parameters, keyword, &Parameter::keyword) != parameters.end();
  };
  const auto is_set = [&](const char* name) { return !line_of(name, lines).empty(); };
  const bool reads_home = (is_set("PGSERVICE") || is_named("service")) && !is_set("PGSERVICEFILE");
  if (variable.name == home) return !reads_home;
  // Where HOME is not set, the user's home is taken.
  if (variable.name == effective_user)
    return (is_set("PGUSER") || is_named("user")) && (!reads_home || is_set(home));
  return variable.keyword != nullptr && is_named(variable.keyword);
}

}  // namespace

std::string libpq_variables(const std::function<std::optional<std::string>(const char*)>& variable,
                            const std::string& user_id) {
  std::string result;
  for (const Variable& known : variables) {
    const auto value = known.name == effective_user ? user_id : variable(known.name);
    if (value) result += fmt::format("{}={}\n", known.name, *value);
  }
  return result;
}

std::string libpq_variables() {
  return libpq_variables(variable_of_this_process, std::to_string(geteuid()));
}

std::optional<std::string> libpq_variable(const char* name, std::string_view lines) {
  const std::string_view line = line_of(name, lines);
  if (line.empty()) return std::nullopt;
  return std::string(line.substr(line.find('=') + 1));
}

std::vector<std::string> libpq_service_files(const std::string& variables) {
  std::vector<std::string> files;
  if (const auto own = libpq_variable("PGSERVICEFILE", variables)) {
    files.push_back(*own);
  } else if (const auto folder = home_folder(variables)) {
    files.push_back(*folder + "/.pg_service.conf");
  }
  files.push_back(libpq_variable("PGSYSCONFDIR", variables).value_or("/etc/postgresql-common") +
                  "/pg_service.conf");
  return files;
}

void require_same_variables(const std::string& conninfo, const std::string& named_by) {
  const std::string now = libpq_variables();
  if (now == named_by) return;
  const auto parameters = parse_conninfo(conninfo).value_or(std::vector<Parameter>());
  for (const Variable& variable : variables) {
    if (line_of(variable.name, now) == line_of(variable.name, named_by)) continue;
    if (is_settled(variable, parameters, named_by)) continue;
    const bool is_user = variable.name == effective_user;
    throw Error(ErrorCode::usage,
                is_user ? std::string("the effective user has changed since this program named the store")
                        : fmt::format("the variable {} has changed since this program named the store",
                                      variable.name),
                is_user ? "change it before the store is opened, or name the user in the store's URL"_hint
                        : "set it before the store is opened, or put its value in the store's URL"_hint);
  }
}

}  // namespace leaf::store
