#include "settings/settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "leaf/error.hpp"
#include "settings/config_file.hpp"
#include "text/hint.hpp"
#include "text/nearest.hpp"

namespace leafctl {

namespace {

using leaf::Error;
using leaf::ErrorCode;

constexpr const char* origin_default = "default";

/// What libpq takes from the environment to find a database.
std::string libpq_variables(const Surroundings& surroundings) {
  std::string result;
  for (const char* name :
       {"PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSERVICEFILE",
        "PGSYSCONFDIR", "PGOPTIONS", "PGTARGETSESSIONATTRS", "PGLOADBALANCEHOSTS"}) {
    if (const auto value = surroundings.variable(name)) result += fmt::format("{}={}\n", name, *value);
  }
  return result;
}

/// Where libpq looks for services, whether there are such files or not.
std::vector<std::string> libpq_service_files(const Surroundings& surroundings) {
  std::vector<std::string> files;
  if (const auto own = surroundings.variable("PGSERVICEFILE")) {
    files.push_back(*own);
  } else if (const auto home = surroundings.variable("HOME")) {
    files.push_back(*home + "/.pg_service.conf");
  }
  files.push_back(surroundings.variable("PGSYSCONFDIR").value_or("/etc/postgresql-common") +
                  "/pg_service.conf");
  return files;
}

/// An XDG base folder; the specification has a relative one ignored.
std::optional<std::string> xdg_folder(const Surroundings& surroundings, const char* variable,
                                      const char* in_home) {
  if (auto folder = surroundings.variable(variable); folder && folder->front() == '/') return folder;
  if (auto home = surroundings.variable("HOME"); home && home->front() == '/') return *home + in_home;
  return std::nullopt;
}

/// The user's files to look into, the most important first.
std::vector<ConfigFile> read_config_files(const GlobalOptions& options, const Surroundings& surroundings) {
  std::vector<ConfigFile> files;
  const auto named = options.config_file ? options.config_file : surroundings.variable("LEAFCTL_CONFIG");
  if (named) {
    auto file = ConfigFile::read_if_exists(*named);
    if (!file) {
      throw Error(ErrorCode::usage, fmt::format("configuration file '{}' does not exist", *named));
    }
    files.push_back(std::move(*file));
  } else if (const auto folder = xdg_folder(surroundings, "XDG_CONFIG_HOME", "/.config")) {
    if (auto file = ConfigFile::read_if_exists(*folder + "/leafctl/leafctl.yaml"))
      files.push_back(std::move(*file));
  }
  return files;
}

/// Appends the system's file. Returns why it does not count if it is not for this user's eyes.
std::optional<Error> read_system_file(const std::string& path, std::vector<ConfigFile>& files) {
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES) {
    return Error(ErrorCode::usage, fmt::format("configuration file '{}' may not be read by this user", path),
                 fmt::format("have root run 'chmod 644 {}', after moving a password in it to a file that "
                             "PGPASSFILE names; or name the store with '--store'"_hint,
                             path));
  }
  if (auto file = ConfigFile::read_if_exists(path)) files.push_back(std::move(*file));
  return std::nullopt;
}

struct Found {
  std::string text;
  std::string name;  ///< what an error about the value speaks of
  std::string origin;
};

std::optional<Found> find_in_files(const Setting& setting, const std::vector<ConfigFile>& files) {
  for (const ConfigFile& file : files) {
    if (const ConfigEntry* entry = file.find(setting.key))
      return Found{entry->text, setting.key, entry->place};
  }
  return std::nullopt;
}

void check_value(const Setting& setting, const ConfigEntry& entry) {
  Settings ignored;
  try {
    setting.assign(ignored, setting.key, entry.text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", entry.place, error.what()), error.hint());
  }
}

/// A file is right or wrong as a whole, whatever comes before it.
void check_values(const ConfigFile& file) {
  for (const Setting& setting : all_settings()) {
    const ConfigEntry* entry = file.find(setting.key);
    if (entry == nullptr) continue;
    for (const ConfigEntry& part : entry->parts) check_value(setting, part);
    check_value(setting, *entry);
  }
}

NamedStores stores_in(const std::vector<ConfigFile>& files) {
  NamedStores stores;
  for (const ConfigFile& file : files) {
    for (const auto& [name, entry] : file.stores()) stores.emplace(name, NamedStore{entry.text, entry.place});
  }
  return stores;
}

std::string name_of_host() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

Surroundings Surroundings::of_this_process() {
  return {.variable = [](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
          },
          .is_root = geteuid() == 0,
          .user_id = std::to_string(geteuid()),
          .host_name = name_of_host()};
}

bool Configuration::knows_store() const {
  if (!unread_file) return true;
  for (const SettingOrigin& setting : origins) {
    if (setting.setting->key == std::string_view("store")) return setting.origin != origin_default;
  }
  return false;
}

bool is_store_name(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](unsigned char c) {
    return (std::isalnum(c) != 0 && c < 0x80) || c == '.' || c == '_' || c == '-';
  });
}

std::string Configuration::url_of(const std::string& text) const {
  // Without names the library tells what a URL is.
  if (stores.empty() || !is_store_name(text)) return text;
  if (const auto found = stores.find(text); found != stores.end()) return found->second.url;
  std::vector<std::string> names;
  for (const auto& [name, store] : stores) names.push_back(name);
  const std::string near = nearest(text, names);
  throw Error(ErrorCode::usage, fmt::format("there is no store '{}' in the configuration", text),
              near.empty() ? fmt::format("the stores there are {}"_hint, fmt::join(names, ", "))
                           : fmt::format("did you mean '{}'?"_hint, near));
}

NamedStores named_stores(const GlobalOptions& options, const Surroundings& surroundings) {
  return stores_in(read_config_files(options, surroundings));
}

Configuration resolve_settings(const GlobalOptions& options, const Surroundings& surroundings) {
  Configuration result;
  std::vector<ConfigFile> files = read_config_files(options, surroundings);
  result.unread_file = read_system_file(surroundings.system_file, files);
  for (const ConfigFile& file : files) check_values(file);

  result.stores = stores_in(files);
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    std::optional<Found> found;
    if (options.values[i]) {
      found = {*options.values[i], setting.long_flag(), setting.long_flag()};
    } else if (const auto value = surroundings.variable(setting.variable)) {
      found = {*value, setting.variable, setting.variable};
    } else {
      found = find_in_files(setting, files);
    }
    if (!found) found = {setting.default_value(surroundings), setting.key, origin_default};
    if (setting.key == std::string_view("store")) {
      const std::string url = result.url_of(found->text);
      if (url != found->text) {
        found->origin += fmt::format(", '{}' in {}", found->text, result.stores.at(found->text).place);
        found->text = url;
      }
    }
    if (found->origin != origin_default || !found->text.empty())
      setting.assign(result.settings, found->name, found->text);
    result.origins.push_back({&setting, found->text, found->origin});
  }
  result.settings.store_key = libpq_variables(surroundings);
  result.settings.store_files = libpq_service_files(surroundings);
  return result;
}

bool belongs_to_another(const std::string& folder, const Surroundings& surroundings) {
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 &&
         (!S_ISDIR(status.st_mode) || std::to_string(status.st_uid) != surroundings.user_id);
}

/// The same from a login or a timer: not in XDG_RUNTIME_DIR, which only some processes have.
std::string usual_runtime_dir(const Surroundings& surroundings) {
  const std::string& run = surroundings.run_folder;
  if (surroundings.is_root && surroundings.is_local(run)) return run + "/leafctl";
  // Made for this user by root, as by systemd-tmpfiles: nobody else can have taken its name.
  const std::string given = run + "/leafctl-" + surroundings.user_id;
  struct stat status {};
  if (lstat(given.c_str(), &status) == 0 && !belongs_to_another(given, surroundings) &&
      surroundings.is_local(run))
    return given;
  return surroundings.is_local("/dev/shm") ? "/dev/shm/leafctl-" + surroundings.user_id : "";
}

std::optional<std::string> own_runtime_dir(const Surroundings& surroundings) {
  const auto state = xdg_folder(surroundings, "XDG_STATE_HOME", "/.local/state");
  if (!state) return std::nullopt;
  std::error_code failed;
  std::filesystem::create_directories(*state, failed);
  return *state + "/leafctl-run";
}

std::string default_store_folder(const Surroundings& surroundings) {
  if (surroundings.is_root) return "/var/lib/leafctl";
  if (const auto folder = xdg_folder(surroundings, "XDG_STATE_HOME", "/.local/state"))
    return *folder + "/leafctl";
  throw Error(ErrorCode::usage, "there is no store: neither '--store' nor 'HOME' is set",
              "name one with '--store' or 'LEAFCTL_STORE'"_hint);
}

bool has_able_terminal(const Surroundings& surroundings) {
  const auto terminal = surroundings.variable("TERM");
  return terminal && terminal != "dumb";
}

bool use_color(ColorMode mode, bool is_terminal, const Surroundings& surroundings) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return is_terminal && !surroundings.variable("NO_COLOR") && has_able_terminal(surroundings);
}

}  // namespace leafctl
