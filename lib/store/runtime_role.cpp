#include "store/runtime_role.hpp"

#include <fmt/format.h>

#include "leaf/store.hpp"
#include "store/dollar_quotes.hpp"
#include "store/store_impl.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Connection;

/// `text` between two of `quote`, each one within doubled.
std::string quoted(const std::string& text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote) result += quote;
    result += c;
  }
  return result + quote;
}

void require_roles(const store::Sql& sql) {
  if (sql.runtime_grants != nullptr) return;
  throw Error(ErrorCode::usage, "a SQLite store has no roles: whoever may write its file may do everything",
              "keep the file from others with 'chmod', or use PostgreSQL"_hint);
}

/// The GRANTs without a transaction of their own.
std::string runtime_grants(const Connection& connection, const std::string& role) {
  // What a name in PostgreSQL may be: longer ones are cut, and could name another role.
  constexpr std::size_t longest = 63;
  if (role.empty() || role.size() > longest || role.find('\0') != std::string::npos) {
    throw Error(ErrorCode::usage, fmt::format("'{}' is not the name of a role", role),
                "a role's name has 1 to 63 characters"_hint);
  }
  if (role == "public") {
    throw Error(ErrorCode::usage, "'public' stands for all roles and is not one",
                "name a role of its own"_hint);
  }
  const std::string form = store::apart_from(connection.sql().runtime_grants, role + connection.schema());
  return fmt::format(fmt::runtime(form), fmt::arg("role", quoted(role, '"')),
                     fmt::arg("role_text", quoted(role, '\'')), fmt::arg("schema", connection.schema()));
}

void require_fit(const store::Row& found, const std::string& role) {
  if (found.integer(0) == 0) {
    throw Error(ErrorCode::usage, fmt::format("role '{}' does not exist", role),
                fmt::format("create it with 'CREATE ROLE {} LOGIN'"_hint, quoted(role, '"')));
  }
  if (found.integer(1) == 1) {
    throw Error(ErrorCode::usage,
                fmt::format("role '{}' owns the store's tables and may do everything with them", role),
                "name another role, neither a superuser nor a member of the owner"_hint);
  }
}

}  // namespace

void store::grant_runtime_role(Connection& connection, const std::string& role,
                               const Transaction& transaction) {
  const Sql& sql = connection.sql();
  require_roles(sql);
  const std::string grants = runtime_grants(connection, role);
  const Value name = role;
  require_fit(only_row(connection.execute(sql.runtime_role, {&name, 1}, transaction.time_left())), role);
  connection.run_script(grants, transaction.time_left());
  const std::string excess =
      only_row(connection.execute(sql.runtime_excess, {&name, 1}, transaction.time_left())).text(0);
  if (excess.empty()) return;
  throw Error(ErrorCode::refused, fmt::format("role '{}' can do more than it needs: {}", role, excess),
              "revoke that from PUBLIC and from the roles that it is a member of"_hint);
}

void Store::grant_runtime_role(const std::string& role) {
  impl_->attempt(store::IfMissing::fail, true, [&](Connection& connection, store::TimeLeft left) {
    require_roles(connection.sql());
    store::Transaction transaction(connection, left);
    store::require_newest(store::read_schema(connection, transaction.time_left()),
                          impl_->driver().migrations());
    store::grant_runtime_role(connection, role, transaction);
    transaction.commit();
  });
}

std::string Store::runtime_role_script(const std::string& role) {
  return impl_->attempt(store::IfMissing::assume_empty, false,
                        [&](Connection& connection, store::TimeLeft left) {
                          require_roles(connection.sql());
                          connection.find_tables(left);
                          return fmt::format("BEGIN;\n\n-- what a runtime role may do\n{}\nCOMMIT;\n",
                                             runtime_grants(connection, role));
                        });
}

}  // namespace leaf
