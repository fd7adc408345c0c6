#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/detail/yaml.hpp"
#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"

namespace leaf {

/// What the defaults of a host are read from; a test makes its own.
struct Environment {
  /// The variable's value; none if it is not set or empty.
  std::function<std::optional<std::string>(const char* name)> variable;
  bool is_root = false;
  std::string user_id = "0";
  std::string host_name{};  ///< empty: it has none
  std::string system_file = "/etc/leafctl/leafctl.yaml";
  std::string run_folder = "/run";  ///< where root alone makes folders
  /// Whether host state may lie on the file system of this path.
  bool (*is_in_memory)(const std::string& path) = is_file_system_in_memory;
  /// What parses configuration files; null: a module of the library, which is loaded if there is a file.
  detail::YamlParser parse_yaml = nullptr;

  /// The environment of this process: its variables, its effective user, its host. Variables are read when
  /// they are asked for, with getenv(): no other thread may change them meanwhile.
  LEAF_EXPORT static Environment of_this_process();
};

/// Whom this host's worker is leased to unless somebody else is named: the host's name, or "localhost" where
/// no owner can be called that.
LEAF_EXPORT std::string worker_name_of_host(const Environment& environment);

/// A value in a configuration file.
struct ConfigEntry {
  std::string text;                  ///< may hold a secret
  std::string place;                 ///< FILE:LINE
  std::vector<ConfigEntry> parts{};  ///< of a mapping: "name=value" each; `text` separates them by commas
};

/// One configuration file: its values by key, and the stores that have names.
struct ConfigFile {
  std::map<std::string, ConfigEntry, std::less<>> entries;
  std::map<std::string, ConfigEntry> stores;

  /// Null if the file does not have the key.
  LEAF_EXPORT const ConfigEntry* find(std::string_view key) const;

  /// The file at that path; absent if there is none. Throws Error (usage) if it cannot be read, is not valid
  /// YAML, has an unknown or repeated key or a value that its key does not take, is writable by everybody, or
  /// holds a password and is readable by group or others. The values of keys that only `leafctl` knows are
  /// not checked.
  LEAF_EXPORT static std::optional<ConfigFile> read_if_exists(const std::string& path,
                                                              const Environment& environment);
};

/// A value, and where it came from.
struct ConfiguredValue {
  std::string text;    ///< as it was given, empty for none; may hold a secret
  std::string origin;  ///< a variable, FILE:LINE, "default", or what a HostChoice is called
};

/// The configuration files of a host, leafctl.yaml(5): the user's, then the system's.
class HostConfiguration {
 public:
  /// No file at all.
  HostConfiguration() = default;

  /// Reads the user's file, which is `file`, else that of LEAFCTL_CONFIG, else leafctl/leafctl.yaml in
  /// XDG_CONFIG_HOME or ~/.config; then the system's. Throws Error (usage) as ConfigFile::read_if_exists(),
  /// and if a file that is named does not exist; but not for a system's file that this user may not read.
  LEAF_EXPORT static HostConfiguration read(const Environment& environment,
                                            const std::optional<std::string>& file = {});

  /// Those that exist, the one with precedence first.
  const std::vector<ConfigFile>& files() const noexcept { return files_; }
  /// The stores that have names.
  const std::map<std::string, ConfigEntry>& stores() const noexcept { return stores_; }
  /// Why nothing was taken from the system's file although there is one: this user may not read it.
  const std::optional<Error>& unread_file() const noexcept { return unread_file_; }

  /// What the environment's `variable` says, else the files at `key`.
  LEAF_EXPORT std::optional<ConfiguredValue> find(const Environment& environment, const char* variable,
                                                  std::string_view key) const;
  /// The URL that `text`, a URL or a store's name, stands for. Throws Error (usage) for an unknown name.
  LEAF_EXPORT std::string url_of(const std::string& text) const;

 private:
  std::vector<ConfigFile> files_;
  std::map<std::string, ConfigEntry> stores_;
  std::optional<Error> unread_file_;
};

/// What the user of a program has chosen, as with an option: it overrides everything else. `origin` is what
/// errors call it, such as "--store".
struct HostChoices {
  std::optional<ConfiguredValue> store{};  ///< a URL, or a name of the configuration's
  std::optional<ConfiguredValue> runtime_dir{};
  std::optional<ConfiguredValue> host_buffer{};  ///< yes or no
  std::optional<ConfiguredValue> group{};        ///< yes or no
};

/// What the programs of a host use unless they are told otherwise: all programs that do so draw from the same
/// buffers as `leafctl next`, and their IDs are in one order.
struct HostDefaults {
  ConfiguredValue store;  ///< its URL
  ConfiguredValue runtime_dir;
  ConfiguredValue host_buffer;
  ConfiguredValue group;
  bool uses_host_buffer = true;
  /// Where the buffers lie; `folder` is empty if there is no place for them.
  HostOptions host{};

  /// For whatever draws from the store: includes this host's record of grants, even if its buffers are not
  /// used. If there is no place for the record, each object has marks of its own.
  LEAF_EXPORT StoreOptions store_options() const;

  /// For SegmentOptions and SnowflakeOptions; absent if buffers are not wanted, or not possible.
  std::optional<HostOptions> buffers() const {
    return uses_host_buffer && !host.folder.empty() ? std::optional(host) : std::nullopt;
  }
};

/// The defaults of this host: for each value the choice, else LEAFCTL_STORE, LEAFCTL_RUNTIME_DIR,
/// LEAFCTL_HOST_BUFFER or LEAFCTL_GROUP, else what a configuration file says, else what `leafctl` does
/// without one. Those of PostgreSQL's variables that select a database become part of the store's key.
///
/// The only function of the library, besides those here that take `Environment`, that reads the environment.
/// Nothing is cached: each call reads again. Thread safe as long as no other thread changes the environment.
/// Throws Error: `usage` for a file or value that is wrong, where there is no home for a default store, if
/// the system's file, which this user may not read, might name another store, and in a setuid or setgid
/// program that has not given up its rights for good: whoever starts that chooses its environment, and with
/// it the files that are read.
LEAF_EXPORT HostDefaults host_defaults(const HostChoices& choices = {},
                                       const std::optional<std::string>& file = {});

/// The same from what was read before. A file that was not read is no error: see
/// HostConfiguration::unread_file().
LEAF_EXPORT HostDefaults host_defaults(const HostConfiguration& configuration, const HostChoices& choices,
                                       const Environment& environment);

/// The folder for host state that every process of this user agrees on, if nobody else has occupied it; empty
/// if the system has no file system for it.
LEAF_EXPORT std::string usual_runtime_dir(const Environment& environment);

/// True if `folder` exists and does not belong to this user.
LEAF_EXPORT bool belongs_to_another(const std::string& folder, const Environment& environment);

/// The folder of the store that is used when none is configured. Throws Error (usage) if there is no home.
LEAF_EXPORT std::string default_store_folder(const Environment& environment);

}  // namespace leaf
