#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "store/connection.hpp"

namespace leaf::store::postgresql {

/// Throws Error (refused) unless `found`, which the search for leaf_meta gave, is the only one, and a
/// store's: who may create in a schema of the search_path could set up what looks like it.
void require_only_table(const Row& found);

/// Why a statement failed, from a result that carries an error.
Error statement_error(const PGresult* result);

/// `error`, of a statement that was refused because it writes, with what to do; `is_standby` is empty where
/// that is not known.
Error read_only_error(const Error& error, std::optional<bool> is_standby);

/// Whether a table or the schema of a statement is not there.
bool is_missing_table(const Error& error);

/// Whether the server ended the connection with this error.
bool is_fatal(const PGresult* result);

/// The connection broke while a statement was under way: its outcome is unknown.
Error lost_connection(const PGconn* connection);

}  // namespace leaf::store::postgresql
