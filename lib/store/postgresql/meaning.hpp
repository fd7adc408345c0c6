#pragma once

#include <string_view>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf::store::postgresql {

/// What an error of the server's means to a caller.
struct Meaning {
  ErrorCode code;
  Advice advice;
};

inline constexpr std::string_view wrong_password = "28P01";
inline constexpr std::string_view not_let_in = "28000";
inline constexpr const char* read_only_hint =
    "name the primary, or all servers as host=A,B; if it is the primary, leave default_transaction_read_only "
    "at its default for this role and database, and out of PGOPTIONS"_hint;

/// Of an SQLSTATE. Classes are named by their first two characters.
Meaning meaning_of(std::string_view state);

/// Whether pgbouncer says, without a code of its own, that it cannot reach the server, which was asked
/// nothing.
bool is_pooler_without_server(std::string_view text);

}  // namespace leaf::store::postgresql
