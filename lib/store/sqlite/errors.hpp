#pragma once

#include <sqlite3.h>

#include <string>

#include "leaf/error.hpp"
#include "store/connection.hpp"

namespace leaf::store::sqlite {

/// The file that was to be opened, or is open.
struct ErrorSource {
  const std::string& path;  ///< as it was given
  const std::string& absolute_path;
  IfMissing if_missing;
};

/// The error for a result code of SQLite; `db`, where there is one, still holds its message.
Error error_of(int result, sqlite3* db, const ErrorSource& source);

/// What to do about a name that no store's file can have.
Advice name_another_file();

/// What to do about a file that is no store, or is none any more: a new one would give out the same IDs
/// again.
Advice restore_or_name_another_file();

}  // namespace leaf::store::sqlite
