#pragma once

#include <optional>
#include <string>

namespace leaf::store {

/// A module of this library that was loaded.
struct Module {
  void* handle;
  std::string file;

  /// Null if it has no such symbol.
  const void* symbol(const char* name) const;
};

/// Loads libleaf-NAME.so from beside the library or from its install folder; it is never unloaded. `what` is
/// what an error calls it. None if it is not installed. Thread safe. Throws Error: `unavailable` for want of
/// memory or files, `usage` if it cannot be loaded.
std::optional<Module> load_module(const std::string& name, const std::string& what);

}  // namespace leaf::store
