#include "settings/settings.hpp"

#include <fmt/format.h>

#include "leaf/detail/yaml.hpp"
#include "leaf/error.hpp"

namespace leafctl {

namespace {

using leaf::Error;
using leaf::ErrorCode;

constexpr const char* origin_default = "default";

struct Found {
  std::string text;
  std::string name;  ///< what an error about the value speaks of
  std::string origin;
};

void check_value(const Setting& setting, const leaf::ConfigEntry& entry) {
  Settings ignored;
  try {
    setting.assign(ignored, setting.key, entry.text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", entry.place, error.what()), error.advice());
  }
}

/// A file is right or wrong as a whole, whatever comes before it.
void check_values(const leaf::ConfigFile& file) {
  for (const Setting& setting : all_settings()) {
    const leaf::ConfigEntry* entry = file.find(setting.key);
    if (entry == nullptr || setting.assign == nullptr) continue;
    for (const leaf::ConfigEntry& part : entry->parts) check_value(setting, part);
    check_value(setting, *entry);
  }
}

leaf::HostChoices choices_of(const GlobalOptions& options) {
  leaf::HostChoices choices;
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    if (setting.choice != nullptr && options.values[i])
      choices.*setting.choice = {*options.values[i], setting.long_flag()};
  }
  return choices;
}

}  // namespace

Environment environment_of_this_process() {
  Environment environment = Environment::of_this_process();
  environment.parse_yaml = leaf::detail::parse_yaml;
  return environment;
}

bool Configuration::knows_store() const {
  if (!files.unread_file()) return true;
  for (const SettingOrigin& setting : origins) {
    if (setting.setting->key == std::string_view("store")) return setting.origin != origin_default;
  }
  return false;
}

Configuration resolve_settings(const GlobalOptions& options, const Environment& environment) {
  Configuration result;
  result.files = leaf::HostConfiguration::read(environment, options.config_file);
  result.named_file = options.config_file ? options.config_file : environment.variable("LEAFCTL_CONFIG");
  for (const leaf::ConfigFile& file : result.files.files()) check_values(file);

  const leaf::HostDefaults host = leaf::host_defaults(result.files, choices_of(options), environment);
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    if (setting.settled != nullptr) {
      const leaf::ConfiguredValue& value = host.*setting.settled;
      result.origins.push_back({&setting, value.text, value.origin});
      continue;
    }
    Found found;
    if (options.values[i]) {
      found = {*options.values[i], setting.long_flag(), setting.long_flag()};
    } else if (const auto value = result.files.find(environment, setting.variable, setting.key)) {
      found = {value->text, value->origin, value->origin};
    } else {
      found = {setting.default_value(environment), setting.key, origin_default};
    }
    if (found.origin != origin_default || !found.text.empty())
      setting.assign(result.settings, found.name, found.text);
    result.origins.push_back({&setting, found.text, found.origin});
  }
  Settings& settings = result.settings;
  settings.store = host.store.text;
  settings.runtime_dir = host.host.folder;
  settings.host_buffer = host.uses_host_buffer;
  settings.group = host.host.group;
  settings.store_key = host.host.store_key;
  settings.store_files = host.host.store_files;
  return result;
}

bool has_able_terminal(const Environment& environment) {
  const auto terminal = environment.variable("TERM");
  return terminal && terminal != "dumb";
}

bool use_color(ColorMode mode, bool is_terminal, const Environment& environment) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return is_terminal && !environment.variable("NO_COLOR") && has_able_terminal(environment);
}

}  // namespace leafctl
