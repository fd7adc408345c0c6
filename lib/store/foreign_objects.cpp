#include "store/foreign_objects.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "store/migrations.hpp"
#include "store/store_impl.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace store {

namespace {

void require_remedies(const std::vector<ForeignObject>& objects) {
  for (const ForeignObject& object : objects) {
    if (!object.remedy.empty()) continue;
    throw Error(ErrorCode::refused,
                fmt::format("{} of role '{}' is not taken over", object.what, object.owner),
                fmt::format("do this as role '{}', or drop it by hand"_hint, object.owner));
  }
}

std::string refusal(const Connection& connection) {
  std::string text = connection.sql().refuse_foreign_objects;
  text.replace(text.find('@'), 1, connection.sql().foreign_objects);
  return connection.placed(text);
}

}  // namespace

std::vector<ForeignObject> find_foreign_objects(Connection& connection, std::chrono::milliseconds timeout) {
  std::vector<ForeignObject> objects;
  if (connection.sql().foreign_objects == nullptr) return objects;
  for (const Row& row : connection.run_script(connection.placed(connection.sql().foreign_objects), timeout))
    objects.push_back({row.text(0), row.text(1), row.text(2)});
  return objects;
}

void adopt(Connection& connection, const std::vector<ForeignObject>& adopted,
           std::chrono::milliseconds timeout) {
  const Sql& sql = connection.sql();
  if (sql.foreign_objects == nullptr) return;
  if (!adopted.empty()) {
    require_remedies(adopted);
    connection.run_script(connection.placed(sql.lock_tables), timeout);
    const auto found = find_foreign_objects(connection, timeout);
    // There is none left where an attempt has lost its reply.
    if (!found.empty() && found != adopted) {
      throw Error(ErrorCode::refused, "what belongs to other roles has changed meanwhile",
                  advice("look at it again{}"_hint, Remedy{Remedy::Kind::look_at_objects}));
    }
    for (const ForeignObject& object : found) connection.run_script(object.remedy, timeout);
  }
  connection.run_script(refusal(connection), timeout);
}

std::string adoption_script(const Connection& connection, const std::vector<ForeignObject>& adopted) {
  const Sql& sql = connection.sql();
  if (sql.foreign_objects == nullptr) return {};
  require_remedies(adopted);
  std::string text;
  if (!adopted.empty()) text = "\n-- what other roles have made\n" + connection.placed(sql.lock_tables);
  for (const ForeignObject& object : adopted) text += object.remedy + ";\n";
  return text + "\n-- nothing of other roles is run\n" + refusal(connection);
}

}  // namespace store

std::vector<ForeignObject> Store::foreign_objects() {
  return impl_->attempt(
      store::IfMissing::assume_empty, false, [](store::Connection& connection, store::TimeLeft left) {
        if (connection.sql().foreign_objects == nullptr) {
          throw Error(ErrorCode::usage, "a SQLite store has no roles: nothing in it belongs to another",
                      "take nothing over, or use PostgreSQL"_hint);
        }
        const store::Transaction transaction(connection, left);
        return store::find_foreign_objects(connection, left);
      });
}

}  // namespace leaf
