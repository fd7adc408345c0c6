#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "config/folders.hpp"
#include "config/values.hpp"
#include "leaf/detail/nearest.hpp"
#include "leaf/error.hpp"
#include "leaf/host_defaults.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

std::optional<ConfigFile> read_user_file(const Environment& environment,
                                         const std::optional<std::string>& file) {
  if (const auto named = file ? file : environment.variable("LEAFCTL_CONFIG")) {
    auto read = ConfigFile::read_if_exists(*named, environment);
    if (!read) throw Error(ErrorCode::usage, fmt::format("configuration file '{}' does not exist", *named));
    return read;
  }
  const auto folder = config::xdg_folder(environment, "XDG_CONFIG_HOME", "/.config");
  return folder ? ConfigFile::read_if_exists(*folder + "/leafctl/leafctl.yaml", environment) : std::nullopt;
}

}  // namespace

HostConfiguration HostConfiguration::read(const Environment& environment,
                                          const std::optional<std::string>& file) {
  HostConfiguration result;
  const auto add = [&](std::optional<ConfigFile> read) {
    if (!read) return;
    result.stores_.insert(read->stores.begin(), read->stores.end());
    result.files_.push_back(std::move(*read));
  };
  add(read_user_file(environment, file));
  const std::string& path = environment.system_file;
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES) {
    result.unread_file_.emplace(
        ErrorCode::usage, fmt::format("configuration file '{}' is not readable by this user", path),
        fmt::format("have root run 'chmod 644 {}', after moving a password in it to a file that PGPASSFILE "
                    "names; or name the store in 'LEAFCTL_STORE'"_hint,
                    path));
  } else {
    add(ConfigFile::read_if_exists(path, environment));
  }
  return result;
}

std::optional<ConfiguredValue> HostConfiguration::find(const Environment& environment, const char* variable,
                                                       std::string_view key) const {
  if (auto value = environment.variable(variable)) return ConfiguredValue{std::move(*value), variable};
  for (const ConfigFile& file : files_) {
    if (const ConfigEntry* entry = file.find(key)) return ConfiguredValue{entry->text, entry->place};
  }
  return std::nullopt;
}

std::string HostConfiguration::url_of(const std::string& text) const {
  // Without names it is for whoever opens the store to tell what a URL is.
  if (stores_.empty() || !config::is_store_name(text)) return text;
  if (const auto found = stores_.find(text); found != stores_.end()) return found->second.text;
  std::vector<std::string> names;
  for (const auto& [name, store] : stores_) names.push_back(name);
  const std::string near = detail::nearest(text, names);
  throw Error(ErrorCode::usage, fmt::format("there is no store '{}' in the configuration", text),
              near.empty() ? fmt::format("the configuration names {}"_hint, fmt::join(names, ", "))
                           : fmt::format("did you mean '{}'?"_hint, near));
}

}  // namespace leaf
