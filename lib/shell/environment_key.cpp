#include "shell/environment_key.hpp"

#include <cstring>

namespace leaf::shell {

namespace {

bool is_named(const char* variable, std::string_view name) {
  return std::strncmp(variable, name.data(), name.size()) == 0 &&
         (variable[name.size()] == '=' || variable[name.size()] == '\0');
}

}  // namespace

/// libpq's variables are PG..., the resolver's LOCALDOMAIN, HOSTALIASES and RES_OPTIONS, the others'
/// LEAFCTL_..., XDG_... and HOME.
bool leads_to_store(const char* variable) {
  switch (variable[0]) {
    case 'H':
      return is_named(variable, "HOME") || is_named(variable, "HOSTALIASES");
    case 'L':
      return std::strncmp(variable, "LEAFCTL_", 8) == 0 || is_named(variable, "LOCALDOMAIN");
    case 'P':
      return variable[1] == 'G';
    case 'R':
      return is_named(variable, "RES_OPTIONS");
    case 'X':
      return std::strncmp(variable, "XDG_", 4) == 0;
    default:
      return false;
  }
}

EnvironmentKey::EnvironmentKey(char* const* environment, std::string_view folder) : key_(folder) {
  key_ += '\0';
  for (; *environment != nullptr; ++environment) {
    if (leads_to_store(*environment)) key_.append(*environment).append(1, '\0');
  }
}

bool EnvironmentKey::is_of(char* const* environment, std::string_view folder) const {
  std::string_view rest = key_;
  const auto follows = [&rest](std::string_view text) {
    if (!rest.starts_with(text) || rest[text.size()] != '\0') return false;
    rest.remove_prefix(text.size() + 1);
    return true;
  };
  if (!follows(folder)) return false;
  for (; *environment != nullptr; ++environment) {
    if (leads_to_store(*environment) && !follows(*environment)) return false;
  }
  return rest.empty();
}

std::optional<std::string> variable_of(char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (entry.size() > name.size() + 1 && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
  }
  return std::nullopt;
}

}  // namespace leaf::shell
