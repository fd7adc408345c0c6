#pragma once

#include <string>
#include <vector>

#include "completion/completion.hpp"

namespace leafctl {

/// The values for what a help text calls `value_name`: "TAG" for a tag's name, "text|json" for one of two
/// words. None where nothing is known of such values. Throws as candidates_at().
std::vector<Candidate> candidate_values(const std::string& value_name, const CompletionCursor& cursor);

}  // namespace leafctl
