#include "store/sqlite/sql_functions.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace leaf::store::sqlite {

namespace {

/// The user's name, or its number where there is no name.
void name_user(sqlite3_context* context, int, sqlite3_value**) {
  const uid_t user = geteuid();
  passwd entry{};
  passwd* found = nullptr;
  char names[4096];
  const bool has_name = getpwuid_r(user, &entry, names, sizeof names, &found) == 0 && found != nullptr;
  const std::string name = has_name ? entry.pw_name : std::to_string(user);
  sqlite3_result_text(context, name.c_str(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
}

}  // namespace

void SqlFunctions::raise_floor(sqlite3_context* context, int, sqlite3_value** arguments) {
  auto& self = *static_cast<SqlFunctions*>(sqlite3_user_data(context));
  try {
    const std::int64_t now = self.floor_ != nullptr ? (*self.floor_)() : 0;
    sqlite3_result_int64(context, std::max<std::int64_t>(sqlite3_value_int64(arguments[0]), now));
  } catch (...) {
    self.failure_ = std::current_exception();
    sqlite3_result_error(context, "the floor is not known", -1);
  }
}

int SqlFunctions::add_to(sqlite3* db) {
  constexpr int how = SQLITE_UTF8 | SQLITE_DIRECTONLY;
  const int added = sqlite3_create_function(db, "leaf_user", 0, how, nullptr, &name_user, nullptr, nullptr);
  if (added != SQLITE_OK) return added;
  return sqlite3_create_function(db, "leaf_floor", 1, how, this, &SqlFunctions::raise_floor, nullptr,
                                 nullptr);
}

}  // namespace leaf::store::sqlite
