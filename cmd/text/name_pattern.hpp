#pragma once

#include <optional>
#include <string>

namespace leafctl {

/// Whether `name` matches the whole of `pattern` as a shell's file names do: `*`, `?`, `[abc]`. Everything
/// does where there is no pattern.
bool matches(const std::optional<std::string>& pattern, const std::string& name);

}  // namespace leafctl
