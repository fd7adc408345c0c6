#include "settings/hinted_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "leaf/detail/yes_no.hpp"

namespace leafctl {

namespace {

std::string absolute(const std::string& path) {
  std::error_code unknown;
  const auto found = std::filesystem::absolute(path, unknown);
  return unknown ? path : found.string();
}

/// A file's with its whole path.
std::string absolute_store(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (!url.starts_with(sqlite)) return url;
  return std::string(sqlite) + absolute(url.substr(sqlite.size()));
}

/// Whether something else than the default of each user.
bool is_chosen(const Configuration& configuration, std::string_view key) {
  return std::ranges::any_of(configuration.origins, [key](const SettingOrigin& setting) {
    return setting.setting->key == key && setting.origin != "default";
  });
}

}  // namespace

HintedOptions hinted_options_here(const GlobalOptions& options) {
  const auto value = [&options](std::string_view key) { return options.values[find_setting(key).value()]; };
  HintedOptions hinted{
      .config = options.config_file, .store = value("store"), .runtime_dir = value("runtime_dir")};
  if (const auto group = value("group")) hinted.group = leaf::detail::parse_yes_no("group", *group);
  return hinted;
}

HintedOptions hinted_options_elsewhere(const Configuration& configuration) {
  const Settings& settings = configuration.settings;
  HintedOptions hinted{.store = absolute_store(settings.store)};
  if (configuration.named_file) hinted.config = absolute(*configuration.named_file);
  if (is_chosen(configuration, "runtime_dir")) hinted.runtime_dir = settings.runtime_dir;
  if (settings.group) hinted.group = true;
  return hinted;
}

}  // namespace leafctl
