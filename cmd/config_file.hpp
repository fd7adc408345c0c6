#pragma once

#include <map>
#include <optional>
#include <string>

namespace leafctl {

struct ConfigEntry {
  std::string text;
  std::string place;  ///< FILE:LINE
};

/// A configuration file in YAML: one mapping of known keys to plain values.
class ConfigFile {
 public:
  /// None if there is no such file. Throws leaf::Error (usage) if it cannot be read, is no valid YAML, has an
  /// unknown or repeated key or a value that is a list or mapping, or holds a password and can be read by
  /// group or others.
  static std::optional<ConfigFile> read_if_exists(const std::string& path);

  /// Null if the file does not have the key.
  const ConfigEntry* find(const std::string& key) const;

 private:
  std::map<std::string, ConfigEntry> entries_;
};

}  // namespace leafctl
