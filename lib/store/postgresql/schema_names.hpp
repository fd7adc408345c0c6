#pragma once

#include <string>
#include <string_view>

namespace leaf::store::postgresql {

/// A statement with every name of the store's, all of which begin with "leaf_", led by `schema`: a quoted
/// name and a dot, or nothing. So no search_path leads it elsewhere.
std::string in_schema(std::string_view statement, const std::string& schema);

/// A migration, in which all of that is led by "leaf.", with `schema` in its place.
std::string migration_in_schema(std::string_view migration, const std::string& schema);

}  // namespace leaf::store::postgresql
