#include "leaf/detail/known_store.hpp"

#include <algorithm>
#include <string_view>

#include "leaf/remedy.hpp"
#include "text/hint.hpp"

namespace leaf::detail {

bool says_to_create_store(const Error& error) {
  constexpr std::string_view missing_database = "3D000";  // in PostgreSQL
  return error.sqlstate() == missing_database ||
         std::ranges::any_of(error.remedies(),
                             [](const Remedy& remedy) { return remedy.kind == Remedy::Kind::create_store; });
}

std::string known_store_hint() {
  return "this host has drawn IDs from a store of that name: find out where its tables are now (a volume "
         "that is not mounted, a renamed database, a schema outside search_path). A new store would give out "
         "the same IDs again"_hint;
}

Error with_known_store(const Error& error) {
  if (!says_to_create_store(error)) return error;
  return {error.code(), error.what(), known_store_hint(), error.sqlstate()};
}

}  // namespace leaf::detail
