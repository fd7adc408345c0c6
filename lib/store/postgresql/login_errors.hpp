#pragma once

#include <libpq-fe.h>

#include <string>
#include <vector>

#include "leaf/error.hpp"

namespace leaf::store::postgresql {

/// Why a login failed. libpq's text, without passwords and in one line, behind `failures` of the resolver.
Error login_error(const PGconn* connection, const std::string& connection_string,
                  const std::vector<std::string>& failures);

/// No server has an address, for these reasons.
Error unresolved_error(const std::vector<std::string>& failures, const std::string& connection_string);

}  // namespace leaf::store::postgresql
