#pragma once

#include <libpq-fe.h>

#include <string>

#include "leaf/error.hpp"

namespace leaf::store::postgresql {

/// Why a login failed. libpq's text, without passwords and in one line.
Error login_error(const PGconn* connection, const std::string& connection_string);

/// Why a statement failed, from a result that carries an error.
Error statement_error(const PGresult* result);

/// Whether the server ended the connection with this error.
bool is_fatal(const PGresult* result);

/// The connection broke while a statement was under way: its outcome is unknown.
Error lost_connection(const PGconn* connection);

}  // namespace leaf::store::postgresql
