#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/host_defaults.hpp"
#include "leaf/layout.hpp"
#include "terminal/output.hpp"

namespace leafctl {

enum class ColorMode { automatic, always, never };

/// Which worker is to be taken instead of any.
struct PinnedWorkers {
  std::optional<std::int64_t> whoever_asks{};
  std::map<std::string, std::int64_t> by_name{};

  /// The worker for the owner `name`, if one is pinned.
  std::optional<std::int64_t> worker_for(const std::string& name) const;
};

/// What every command goes by.
struct Settings {
  std::string store;
  std::chrono::milliseconds timeout{};
  OutputFormat output = OutputFormat::text;
  ColorMode color = ColorMode::automatic;
  std::optional<leaf::Layout> layout{};  ///< the one that is expected of the store
  std::string worker_name;
  PinnedWorkers worker_id;
  std::chrono::milliseconds window{};
  std::chrono::milliseconds max_skew{};
  std::chrono::milliseconds max_backward{};
  std::chrono::milliseconds recycle_after{};
  std::string runtime_dir;               ///< where the host's buffers lie; empty: there is no place for them
  bool host_buffer = false;              ///< draw from the host's buffers
  bool group = false;                    ///< they are shared by a group of users
  std::string store_key;                 ///< what leads to the store besides its URL: libpq's variables
  std::vector<std::string> store_files;  ///< and its service files
};

using leaf::Environment;

/// Those of this process, where configuration files are read by what the program has inside.
Environment environment_of_this_process();

/// One setting: all that is known of it. A new setting is a row in settings_table.cpp and a field in
/// Settings.
struct Setting {
  const char* key;         ///< in a configuration file and in show-config
  const char* flags;       ///< as declared to CLI11; the long one is its name
  const char* variable;    ///< in the environment
  const char* value_name;  ///< in the help
  const char* help;
  /// Empty: none, and nothing is assigned.
  std::string (*default_value)(const Environment&) = nullptr;
  /// Parses `text`. Throws leaf::Error (usage) that speaks of `name`.
  void (*assign)(Settings&, std::string_view name, const std::string& text) = nullptr;
  /// What show-config prints instead of the text, to keep a secret; may be null.
  std::string (*shown)(std::string_view text) = nullptr;
  /// True if every command has the flag; else those whose setting_keys() say so.
  bool is_global = true;
  /// For a setting of yes or no: what its flag stands for, which may be turned round, as by --group=no. Null
  /// for any other.
  const char* flag_stands_for = nullptr;
  /// For what all programs of a host go by: libleaf settles it, and the two functions above are null.
  std::optional<leaf::ConfiguredValue> leaf::HostChoices::*choice = nullptr;
  leaf::ConfiguredValue leaf::HostDefaults::*settled = nullptr;

  /// The long flag, such as "--store".
  std::string long_flag() const;
};

std::span<const Setting> all_settings();

/// The settings of whatever uses the host's buffers.
inline constexpr std::array<std::string_view, 2> host_setting_keys{"host_buffer", "group"};

/// The index of `key` in all_settings(); none if there is no such setting.
std::optional<std::size_t> find_setting(std::string_view key);

/// A setting's value as text, and where it came from.
struct SettingOrigin {
  const Setting* setting;
  std::string text;    ///< as it was given, empty for none; may hold a secret
  std::string origin;  ///< a flag, a variable, FILE:LINE or "default"

  /// The text without secrets.
  std::string shown() const { return setting->shown == nullptr ? text : setting->shown(text); }
};

/// What the command line said about settings: one text for each row of all_settings(), and the options that
/// only exist as flags.
struct GlobalOptions {
  std::vector<std::optional<std::string>> values =
      std::vector<std::optional<std::string>>(all_settings().size());
  std::optional<std::string> config_file;
  bool quiet = false;
  bool verbose = false;
};

struct Configuration {
  Settings settings;
  std::vector<SettingOrigin> origins;
  leaf::HostConfiguration files{};
  std::optional<std::string> named_file{};  ///< the user's, if one was named

  /// False if the file that was not read might name another store.
  bool knows_store() const;
};

/// Settles every setting: flag, else variable, else the user's file, else the system's, else the default. The
/// user's file is `--config`, `LEAFCTL_CONFIG` or leafctl/leafctl.yaml in the XDG folder. Throws leaf::Error
/// (usage), but not for a system's file that this user may not read.
Configuration resolve_settings(const GlobalOptions& options, const Environment& environment);

/// Whether the terminal, if there is one, understands more than lines of text: a cursor that moves, colours.
/// Not where TERM is dumb or not set.
bool has_able_terminal(const Environment& environment);

/// Whether to paint what goes to a terminal or pipe: NO_COLOR and a terminal that only takes text count
/// unless the mode is explicit.
bool use_color(ColorMode mode, bool is_terminal, const Environment& environment);

}  // namespace leafctl
