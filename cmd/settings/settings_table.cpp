#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "settings/settings.hpp"
#include "text/numbers.hpp"

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

void assign_layout(Settings& settings, std::string_view name, const std::string& text) {
  try {
    settings.layout = leaf::Layout::parse(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("'{}': {}", name, error.what()), error.advice());
  }
}

void assign_worker_name(Settings& settings, std::string_view name, const std::string& text) {
  if (!leaf::is_owner_name(text)) {
    throw Error(
        ErrorCode::usage,
        fmt::format("'{}' takes 1 to 255 printable ASCII characters without blanks, not '{}'", name, text));
  }
  settings.worker_name = text;
}

std::int64_t parse_worker(std::string_view name, std::string_view text) {
  return parse_integer(name, text, worker_bounds);
}

/// Adds `pair`, "name=number", a part of the setting `setting`.
void pin_worker(PinnedWorkers& pinned, std::string_view setting, std::string_view pair) {
  const std::size_t equals = std::min(pair.rfind('='), pair.size());
  const std::string owner(pair.substr(0, equals));
  if (equals == pair.size() || !leaf::is_owner_name(owner)) {
    throw Error(
        ErrorCode::usage,
        fmt::format("'{}' takes a number, or NAME=NUMBER for each worker name, not '{}'", setting, pair));
  }
  const std::int64_t worker = parse_worker(fmt::format("{}.{}", setting, owner), pair.substr(equals + 1));
  for (const auto& [other, taken] : pinned.by_name) {
    if (taken == worker || other == owner) {
      throw Error(ErrorCode::usage, fmt::format("'{}' gives worker {} to '{}' and worker {} to '{}'", setting,
                                                taken, other, worker, owner));
    }
  }
  pinned.by_name.emplace(owner, worker);
}

void assign_worker_id(Settings& settings, std::string_view name, const std::string& text) {
  PinnedWorkers pinned;
  if (text.find('=') == std::string::npos) {
    pinned.whoever_asks = parse_worker(name, text);
  } else {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      pin_worker(pinned, name, std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
  }
  settings.worker_id = pinned;
}

/// Assigns a duration to `member`.
template <milliseconds Settings::*member, std::int64_t shortest_ms>
void assign_duration(Settings& settings, std::string_view name, const std::string& text) {
  settings.*member = parse_duration(name, text, {milliseconds(shortest_ms), hours(24)});
}

std::string nothing(const Environment&) {
  return {};
}
constexpr Setting settings_table[] = {
    {.key = "store",
     .flags = "--store",
     .variable = "LEAFCTL_STORE",
     .value_name = "URL",
     .help = "the store: sqlite:PATH, postgresql://HOST/DATABASE, service=NAME or key=value pairs as libpq "
             "takes them, or a name of the configuration's stores "
             "(default: sqlite:~/.local/state/leafctl/leaf.db; for root /var/lib/leafctl/leaf.db)",
     .shown = leaf::redact_url,
     .choice = &leaf::HostChoices::store,
     .settled = &leaf::HostDefaults::store},
    {"timeout", "--timeout", "LEAFCTL_TIMEOUT", "DURATION",
     "how long each request to the store may take, up to 24h; 0 to try once (default: 5s)",
     [](const Environment&) { return std::string("5s"); }, assign_duration<&Settings::timeout, 0>},
    {"output", "-o,--output", "LEAFCTL_OUTPUT", "text|json",
     "how records are printed; JSON is one object per line (default: text)",
     [](const Environment&) { return std::string("text"); }, assign_output},
    {"color", "--color", "LEAFCTL_COLOR", "auto|always|never",
     "when to use colours (default: auto, on a terminal)",
     [](const Environment&) { return std::string("auto"); }, assign_color},
    {.key = "layout",
     .flags = "--layout",
     .variable = "LEAFCTL_LAYOUT",
     .value_name = "LAYOUT",
     .help = "the layout of IDs that this host expects; a store with another one is refused (default: any)",
     .default_value = nothing,
     .assign = assign_layout,
     .is_global = false},
    {.key = "worker_name",
     .flags = "--worker-name",
     .variable = "LEAFCTL_WORKER_NAME",
     .value_name = "NAME",
     .help = "the owner of workers; a name that stays the same across restarts (default: this host's name)",
     .default_value = leaf::worker_name_of_host,
     .assign = assign_worker_name,
     .is_global = false},
    {.key = "worker_id",
     .flags = "--worker-id",
     .variable = "LEAFCTL_WORKER_ID",
     .value_name = "WORKER",
     .help = "use only this worker; NAME=WORKER,... pins a worker to each name (in a configuration file, a "
             "mapping) (default: any)",
     .default_value = nothing,
     .assign = assign_worker_id,
     .is_global = false},
    {.key = "window",
     .flags = "--window",
     .variable = "LEAFCTL_WINDOW",
     .value_name = "DURATION",
     .help = "maximum length of a leased window, 10ms to 24h (default: 10m)",
     .default_value = [](const Environment&) { return std::string("10m"); },
     .assign = assign_duration<&Settings::window, 10>,
     .is_global = false},
    {.key = "max_skew",
     .flags = "--max-skew",
     .variable = "LEAFCTL_MAX_SKEW",
     .value_name = "DURATION",
     .help = "how far this host's clock may be off the store's, up to 24h (default: 5s)",
     .default_value = [](const Environment&) { return std::string("5s"); },
     .assign = assign_duration<&Settings::max_skew, 0>,
     .is_global = false},
    {.key = "max_backward",
     .flags = "--max-backward",
     .variable = "LEAFCTL_MAX_BACKWARD",
     .value_name = "DURATION",
     .help = "how far the clock may fall behind the last ID, up to 24h (default: 2s)",
     .default_value = [](const Environment&) { return std::string("2s"); },
     .assign = assign_duration<&Settings::max_backward, 0>,
     .is_global = false},
    {.key = "recycle_after",
     .flags = "--recycle-after",
     .variable = "LEAFCTL_RECYCLE_AFTER",
     .value_name = "DURATION",
     .help = "how long an owner must be silent before others get its worker, up to 24h (default: 1h)",
     .default_value = [](const Environment&) { return std::string("1h"); },
     .assign = assign_duration<&Settings::recycle_after, 0>,
     .is_global = false},
    {.key = "runtime_dir",
     .flags = "--runtime-dir",
     .variable = "LEAFCTL_RUNTIME_DIR",
     .value_name = "DIR",
     .help = "folder of this host's buffers, on tmpfs (default: /dev/shm/leafctl-UID, or /run/leafctl-UID if "
             "root has made that; for root /run/leafctl)",
     .is_global = true,
     .choice = &leaf::HostChoices::runtime_dir,
     .settled = &leaf::HostDefaults::runtime_dir},
    {.key = "host_buffer",
     .flags = "--no-host-buffer",
     .variable = "LEAFCTL_HOST_BUFFER",
     .value_name = "",
     .help = "leave this host's buffers alone; any IDs drawn are fetched for this process only",
     .is_global = false,
     .flag_stands_for = "no",
     .choice = &leaf::HostChoices::host_buffer,
     .settled = &leaf::HostDefaults::host_buffer},
    {.key = "group",
     .flags = "--group",
     .variable = "LEAFCTL_GROUP",
     .value_name = "",
     .help = "share this host's buffers with the runtime folder's group, by mode 2770",
     .is_global = false,
     .flag_stands_for = "yes",
     .choice = &leaf::HostChoices::group,
     .settled = &leaf::HostDefaults::group},
};

}  // namespace

std::optional<std::int64_t> PinnedWorkers::worker_for(const std::string& name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? whoever_asks : found->second;
}

std::string Setting::long_flag() const {
  const std::string_view names = flags;
  return std::string(names.substr(names.find("--")));
}

std::span<const Setting> all_settings() {
  return settings_table;
}

std::optional<std::size_t> find_setting(std::string_view key) {
  for (std::size_t i = 0; i < std::size(settings_table); ++i) {
    if (settings_table[i].key == key) return i;
  }
  return std::nullopt;
}

}  // namespace leafctl
