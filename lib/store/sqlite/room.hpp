#pragma once

#include <string>

namespace leaf::store::sqlite {

/// Why a grant cannot write its journal beside the file that `path` leads to: an error of the system, or 0
/// if it can, as far as that is known. Leaves nothing there.
int why_no_journal(const std::string& path);

/// Whether `error` says that a disk is full, or a quota used up.
bool is_without_room(int error);

}  // namespace leaf::store::sqlite
