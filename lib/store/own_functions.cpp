#include "store/own_functions.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace leaf::store {

namespace {

/// What makes a function, what was set since, and every right that was given or taken.
struct OwnFunction {
  std::string made;
  std::string set;
  std::string rights;
};

std::string_view after_line(std::string_view sql) {
  const auto end = sql.find('\n');
  return end == sql.npos ? std::string_view() : sql.substr(end + 1);
}

/// The statement that `sql` begins with; what is between dollar quotes does not end it.
std::string_view statement_of(std::string_view sql) {
  std::size_t at = sql.find_first_of("$;");
  while (at != sql.npos && sql[at] == '$') {
    const std::string_view quote = sql.substr(at, sql.find('$', at + 1) + 1 - at);
    at = sql.find_first_of("$;", sql.find(quote, at + quote.size()) + quote.size());
  }
  return sql.substr(0, at + 1);
}

/// Those that a statement names after `lead`, as NAME/ARGUMENTS.
std::vector<std::string> named(std::string_view statement, std::string_view lead) {
  std::vector<std::string> names;
  for (auto at = statement.find(lead); at != statement.npos; at = statement.find(lead, at + 1)) {
    const auto begin = at + lead.size() - std::string_view("leaf_").size();
    const auto open = statement.find('(', begin), close = statement.find(')', begin);
    const std::string_view arguments = statement.substr(open + 1, close - open - 1);
    const auto count = arguments.empty() ? 0 : std::ranges::count(arguments, ',') + 1;
    names.push_back(std::string(statement.substr(begin, open - begin)) + "/" + std::to_string(count));
  }
  return names;
}

}  // namespace

std::map<std::string, std::string> functions_of(std::span<const Migration> migrations) {
  std::map<std::string, OwnFunction> functions;
  for (const Migration& migration : migrations) {
    for (std::string_view sql = migration.sql; !sql.empty(); sql = after_line(sql)) {
      const auto is = [&](std::string_view beginning) { return sql.starts_with(beginning); };
      const bool is_made = is("CREATE FUNCTION ") || is("CREATE OR REPLACE FUNCTION ");
      const bool is_block = is("DO ");
      const bool is_right = is("GRANT EXECUTE ON FUNCTION ") || is("REVOKE EXECUTE ON FUNCTION ");
      if (!is_made && !is_block && !is_right && !is("ALTER FUNCTION ") && !is("DROP FUNCTION ")) continue;
      const std::string_view statement = statement_of(sql);
      // A body names others, which it does not make.
      const auto names = is_block ? named(statement, "FUNCTION %s.leaf_")
                                  : named(statement.substr(0, statement.find('$')), "leaf.leaf_");
      for (const std::string& name : names) {
        const std::string text = std::string(statement) + "\n";
        if (is("DROP ")) {
          functions.erase(name);
        } else if (is_right) {
          functions[name].rights += text;
        } else if (is("ALTER ")) {
          functions[name].set += text;
        } else {
          functions[name].made = text;
          functions[name].set.clear();
        }
      }
      sql.remove_prefix(statement.size());
    }
  }
  std::map<std::string, std::string> all;
  for (const auto& [name, function] : functions) all[name] = function.made + function.set + function.rights;
  return all;
}

}  // namespace leaf::store
