#pragma once

#include "store/sql.hpp"

namespace leaf::store::postgresql {

extern const Sql sql;

/// $1 true to set the search_path for the transaction, $2 the process ID of the server's side, to set it for
/// the session where it is that process that answers, $3 a schema and a dot where the tables lie, or NULL to
/// look along the search_path -> the schema where the tables lie or NULL, the schema where they would be made
/// or NULL, 1 if it is a table that was found, another schema of the search_path where another role has one
/// of that name or NULL, not NULL if the path was set.
extern const char* const find_schema;
/// Sets the search_path of the transaction, so that operators, functions and types are PostgreSQL's own.
extern const char* const pin;

}  // namespace leaf::store::postgresql
