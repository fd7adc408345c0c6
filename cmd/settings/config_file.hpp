#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leafctl {

struct ConfigEntry {
  std::string text;
  std::string place;                 ///< FILE:LINE
  std::vector<ConfigEntry> parts{};  ///< of a mapping: "name=value" each, as in `text` parted by commas
};

/// A configuration file in YAML: one mapping of known keys to plain values, or to a mapping of names to such
/// where the setting takes one.
class ConfigFile {
 public:
  /// None if there is no such file. Throws leaf::Error (usage) if it cannot be read, is no valid YAML, has an
  /// unknown or repeated key or a value of another kind than its key takes, or holds a password and can be
  /// read by group or others.
  static std::optional<ConfigFile> read_if_exists(const std::string& path);

  /// Null if the file does not have the key.
  const ConfigEntry* find(const std::string& key) const;

  /// The stores that have names, and their URLs.
  const std::map<std::string, ConfigEntry>& stores() const noexcept { return stores_; }

 private:
  std::map<std::string, ConfigEntry> stores_;
  std::map<std::string, ConfigEntry> entries_;
};

}  // namespace leafctl
