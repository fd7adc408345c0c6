#pragma once

#include <algorithm>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/remedy.hpp"
#include "text/hint.hpp"

namespace leaf {

/// `error` for who has drawn from the store: one that is made in its place would give out the same IDs.
inline Error with_known_store(const Error& error) {
  constexpr std::string_view missing_database = "3D000";  // in PostgreSQL
  const bool says_to_create =
      error.sqlstate() == missing_database || std::ranges::any_of(error.remedies(), [](const Remedy& remedy) {
        return remedy.kind == Remedy::Kind::create_store;
      });
  if (!says_to_create) return error;
  return {
      error.code(), error.what(),
      "this host has drawn IDs from a store of that name: find out where its tables are now (a volume that "
      "is not "
      "mounted, a renamed database, a schema outside search_path). A new store would give out the same IDs again"_hint,
      error.sqlstate()};
}

}  // namespace leaf
