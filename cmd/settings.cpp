#include "settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "config_file.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "numbers.hpp"

namespace leafctl {

namespace {

using leaf::Error;
using leaf::ErrorCode;
using std::chrono::hours;
using std::chrono::milliseconds;

template <class T>
struct Choice {
  std::string_view text;
  T value;
};

template <class T, std::size_t n>
T parse_choice(std::string_view name, std::string_view text, const Choice<T> (&choices)[n]) {
  std::string list;
  for (std::size_t i = 0; i < n; ++i) {
    if (choices[i].text == text) return choices[i].value;
    if (i > 0) list += i + 1 == n ? " or " : ", ";
    list += choices[i].text;
  }
  throw Error(ErrorCode::usage, fmt::format("'{}' takes {}, not '{}'", name, list, text));
}

void assign_store(Settings& settings, std::string_view name, const std::string& text) {
  if (text.empty()) {
    throw Error(ErrorCode::usage, fmt::format("'{}' takes a store's URL, not an empty text", name),
                "such as sqlite:PATH or postgresql://HOST/DATABASE");
  }
  settings.store = text;
}

void assign_timeout(Settings& settings, std::string_view name, const std::string& text) {
  settings.timeout = parse_duration(name, text, {milliseconds(1), hours(24)});
}

void assign_output(Settings& settings, std::string_view name, const std::string& text) {
  static constexpr Choice<OutputFormat> formats[] = {{"text", OutputFormat::text},
                                                     {"json", OutputFormat::json}};
  settings.output = parse_choice(name, text, formats);
}

void assign_color(Settings& settings, std::string_view name, const std::string& text) {
  static constexpr Choice<ColorMode> modes[] = {
      {"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}};
  settings.color = parse_choice(name, text, modes);
}

std::string default_store(const Surroundings& surroundings) {
  return "sqlite:" + default_store_folder(surroundings) + "/leaf.db";
}

constexpr Setting settings_table[] = {
    {"store", "--store", "LEAFCTL_STORE", "URL",
     "where tags live: sqlite:PATH, postgresql://HOST/DATABASE, service=NAME or key=value pairs as libpq "
     "takes them "
     "(default: a SQLite file of your own)",
     default_store, assign_store, leaf::redact_url},
    {"timeout", "--timeout", "LEAFCTL_TIMEOUT", "DURATION",
     "how long to wait for the store in all, 1ms to 24h (default: 5s)",
     [](const Surroundings&) { return std::string("5s"); }, assign_timeout, nullptr},
    {"output", "-o,--output", "LEAFCTL_OUTPUT", "FORMAT", "text or json, one object a line (default: text)",
     [](const Surroundings&) { return std::string("text"); }, assign_output, nullptr},
    {"color", "--color", "LEAFCTL_COLOR", "WHEN", "auto, always or never (default: auto)",
     [](const Surroundings&) { return std::string("auto"); }, assign_color, nullptr},
};

/// An XDG base folder; the specification has a relative one ignored.
std::optional<std::string> xdg_folder(const Surroundings& surroundings, const char* variable,
                                      const char* in_home) {
  if (auto folder = surroundings.variable(variable); folder && folder->front() == '/') return folder;
  if (auto home = surroundings.variable("HOME"); home && home->front() == '/') return *home + in_home;
  return std::nullopt;
}

/// The files to look into, the most important first.
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
  if (auto file = ConfigFile::read_if_exists(surroundings.system_file)) files.push_back(std::move(*file));
  return files;
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

/// A file is right or wrong as a whole, whatever comes before it.
void check_values(const ConfigFile& file) {
  Settings ignored;
  for (const Setting& setting : all_settings()) {
    const ConfigEntry* entry = file.find(setting.key);
    if (entry == nullptr) continue;
    try {
      setting.assign(ignored, setting.key, entry->text);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", entry->place, error.what()), error.hint());
    }
  }
}

}  // namespace

Surroundings Surroundings::of_this_process() {
  return {.variable = [](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
          },
          .is_root = geteuid() == 0};
}

std::string Setting::long_flag() const {
  const std::string_view names = flags;
  return std::string(names.substr(names.find("--")));
}

std::span<const Setting> all_settings() {
  return settings_table;
}

Configuration resolve_settings(const GlobalOptions& options, const Surroundings& surroundings) {
  const std::vector<ConfigFile> files = read_config_files(options, surroundings);
  for (const ConfigFile& file : files) check_values(file);

  Configuration result;
  for (std::size_t i = 0; i < std::size(settings_table); ++i) {
    const Setting& setting = settings_table[i];
    std::optional<Found> found;
    if (options.values[i]) {
      found = {*options.values[i], setting.long_flag(), setting.long_flag()};
    } else if (const auto value = surroundings.variable(setting.variable)) {
      found = {*value, setting.variable, setting.variable};
    } else {
      found = find_in_files(setting, files);
    }
    if (!found) found = {setting.default_value(surroundings), setting.key, "default"};
    setting.assign(result.settings, found->name, found->text);
    result.origins.push_back({&setting, found->text, found->origin});
  }
  return result;
}

std::string default_store_folder(const Surroundings& surroundings) {
  if (surroundings.is_root) return "/var/lib/leafctl";
  if (const auto folder = xdg_folder(surroundings, "XDG_STATE_HOME", "/.local/state"))
    return *folder + "/leafctl";
  throw Error(ErrorCode::usage, "there is no store: neither '--store' nor 'HOME' is set",
              "name one with '--store' or 'LEAFCTL_STORE'");
}

bool use_color(ColorMode mode, bool is_terminal, const Surroundings& surroundings) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return is_terminal && !surroundings.variable("NO_COLOR") && surroundings.variable("TERM") != "dumb";
}

}  // namespace leafctl
