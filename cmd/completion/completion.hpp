#pragma once

#include <string>
#include <vector>

#include "completion/completion_cursor.hpp"

namespace leafctl {

/// A word that may stand at the cursor in place of what is typed there.
struct Candidate {
  std::string word;         ///< empty: the name of any file, behind `description`
  std::string description;  ///< on one line; may be empty
};

/// All that may stand at the cursor, whether it begins with what is typed there or not. Looks into the store
/// for the names of tags and the like. Throws leaf::Error where the configuration or the store fail.
std::vector<Candidate> candidates_at(const CompletionCursor& cursor);

}  // namespace leafctl
