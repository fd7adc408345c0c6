#include "store/triggers.hpp"

#include <string_view>

#include "store/migrations.hpp"
#include "store/own_functions.hpp"

namespace leaf::store {

namespace {

/// The statement that `sql` begins with: one that makes a trigger, whose body SQLite has in it.
std::string_view statement_of(std::string_view sql) {
  constexpr std::string_view body = "\nBEGIN\n", body_end = "\nEND;";
  std::string_view statement = sql.substr(0, sql.find(';') + 1);
  if (statement.find(body) != sql.npos) statement = sql.substr(0, sql.find(body_end) + body_end.size());
  return statement;
}

}  // namespace

std::map<std::string, std::string> triggers_of(std::span<const Migration> migrations) {
  constexpr std::string_view create = "CREATE TRIGGER ", drop = "DROP TRIGGER ", if_exists = "IF EXISTS ";
  std::map<std::string, std::string> triggers;
  for (const Migration& migration : migrations) {
    const std::string_view sql = migration.sql;
    for (std::size_t at = sql.find("TRIGGER "); at != sql.npos; at = sql.find("TRIGGER ", at + 1)) {
      const auto begin = sql.rfind('\n', at) + 1;  // 0 in the first line
      std::string_view line = sql.substr(begin);
      const bool is_made = line.starts_with(create);
      if (!is_made && !line.starts_with(drop)) continue;
      line.remove_prefix(is_made ? create.size() : drop.size());
      if (line.starts_with(if_exists)) line.remove_prefix(if_exists.size());
      const std::string name(line.substr(0, line.find_first_of(" \n")));
      if (is_made) {
        triggers[name] = statement_of(sql.substr(begin));
      } else {
        triggers.erase(name);
      }
    }
  }
  return triggers;
}

std::vector<StoppedTrigger> stopped_triggers(Connection& connection, std::span<const Migration> migrations,
                                             int version, std::chrono::milliseconds timeout) {
  std::vector<StoppedTrigger> stopped;
  // First: what the triggers do to one row they would do to each that has its key.
  if (connection.sql().missing_keys != nullptr) {
    for (const Row& row : connection.execute(connection.sql().missing_keys, {}, timeout))
      stopped.push_back({row.text(0), row.text(1)});
  }
  std::size_t applied = 0;
  while (applied < migrations.size() && migrations[applied].number <= version) ++applied;
  // Before the triggers, which run them.
  if (connection.sql().functions_there != nullptr) {
    auto functions = functions_of(migrations.first(applied));
    for (const auto& [name, statements] : event_functions(migrations)) functions.erase(name);
    for (const Row& row : connection.execute(connection.sql().functions_there, {}, timeout))
      functions.erase(row.text(0));
    for (const auto& [name, statements] : functions)
      stopped.push_back({"function " + name.substr(0, name.find('/')), statements});
  }
  auto missing = triggers_of(migrations.first(applied));
  for (const auto& [name, statement] : event_triggers(migrations)) missing.erase(name);
  for (const Row& row : connection.execute(connection.sql().triggers, {}, timeout)) {
    const auto wanted = missing.find(row.text(0));
    if (wanted == missing.end()) continue;
    missing.erase(wanted);
    if (row.integer(1) == 0) stopped.push_back({row.text(0), row.text(2)});
  }
  for (const auto& [name, statement] : missing) stopped.push_back({name, statement});
  return stopped;
}

}  // namespace leaf::store
