#pragma once

#include <string>

#include "store/sqlite/file.hpp"

namespace leaf::store::sqlite {

/// Where a store is to lie.
struct Place {
  const std::string& shown;  ///< as whoever asks has named it
  const std::string& path;   ///< the same, absolute
};

/// Before SQLite opens or makes a file there. Throws Error: `usage` where it would open what is no file, or
/// another one than the system; `refused` where something else lies in the place of its journal.
void require_usable(const Place& place);

/// Throws Error (refused) if what lies at `name` is no journal of that store's own: SQLite opens whatever it
/// finds there, and waits without end for somebody to write to a pipe.
void require_free_journal(const Place& place, const std::string& name);

/// Throws Error (refused) if others may reach the file that was found there without its journal: those would
/// not see what a crash left in it.
void require_one_way(const Place& place, const FileLook& found);

}  // namespace leaf::store::sqlite
