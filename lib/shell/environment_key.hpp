#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leaf::shell {

/// Whether a variable, `NAME=value` or its name alone, may lead to another store or its buffers.
bool leads_to_store(const char* variable);

/// What leads to a store and its buffers, to be compared at each command.
class EnvironmentKey {
 public:
  EnvironmentKey() = default;
  /// `environment` ends with a null pointer. Relative paths begin in `folder`.
  EnvironmentKey(char* const* environment, std::string_view folder);

  bool is_of(char* const* environment, std::string_view folder) const;

 private:
  std::string key_;
};

/// The value of a variable; none if it is not set or empty.
std::optional<std::string> variable_of(char* const* environment, std::string_view name);

}  // namespace leaf::shell
