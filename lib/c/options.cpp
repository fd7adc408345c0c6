#include "c/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "c/versioned_struct.hpp"
#include "host/host_marks.hpp"
#include "leaf/error.hpp"
#include "leaf/host_defaults.hpp"
#include "text/hint.hpp"

namespace leaf::c {

namespace {

constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(24);  // as of leafctl

bool is_known(int choice) {
  return choice == LEAF_DEFAULT || choice == LEAF_YES || choice == LEAF_NO;
}

leaf_options valid(const leaf_options* options) {
  if (options == nullptr) return {};
  const leaf_options result = known_part(*options, "leaf_options");
  if (!is_known(result.use_host_defaults) || !is_known(result.host_buffer) || !is_known(result.group))
    throw Error(ErrorCode::usage, "leaf_options makes a choice that is none",
                "fill it with zeros first"_hint);
  return result;
}

std::optional<ConfiguredValue> chosen(const char* text, const char* member) {
  return text == nullptr ? std::nullopt : std::optional(ConfiguredValue{text, member});
}

std::optional<ConfiguredValue> chosen(int choice, const char* member) {
  if (choice == LEAF_DEFAULT) return std::nullopt;
  return ConfiguredValue{choice == LEAF_YES ? "yes" : "no", member};
}

/// The number in `pinned`, which is one, or NAME=NUMBER of several names, parted by commas; none for another
/// `owner`.
std::optional<std::int64_t> pinned_worker(const ConfiguredValue& pinned, const std::string& owner) {
  std::string_view rest = pinned.text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = part.rfind('=');
    const bool is_of_another = equals != std::string_view::npos && part.substr(0, equals) != owner;
    const std::string_view number = equals == std::string_view::npos ? part : part.substr(equals + 1);
    std::int64_t worker = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), worker);
    if (error != std::errc{} || end != number.data() + number.size() || worker < 0)
      throw Error(ErrorCode::usage, fmt::format("'{}' names no worker: '{}'", pinned.origin, part));
    if (!is_of_another) return worker;
  }
  return std::nullopt;
}

/// What a generator goes by: the same as `leafctl next --snowflake`.
void take_worker_of_host(const leaf_options& options, const std::optional<std::string>& file,
                         Settings& settings) {
  const Environment environment = Environment::of_this_process();
  const HostConfiguration configuration = HostConfiguration::read(environment, file);
  const auto name = configuration.find(environment, "LEAFCTL_WORKER_NAME", "worker_name");
  settings.worker_name = options.worker_name != nullptr ? options.worker_name
                         : name                         ? name->text
                                                        : worker_name_of_host(environment);
  if (const auto pinned = configuration.find(environment, "LEAFCTL_WORKER_ID", "worker_id"))
    settings.worker = pinned_worker(*pinned, settings.worker_name);
  if (const auto layout = configuration.find(environment, "LEAFCTL_LAYOUT", "layout"))
    settings.layout = Layout::parse(layout->text);
}

void take_host_defaults(const leaf_options& options, Settings& settings) {
  const auto file =
      options.config_file == nullptr ? std::nullopt : std::optional<std::string>(options.config_file);
  const HostDefaults defaults =
      host_defaults({.store = chosen(options.store, "leaf_options.store"),
                     .runtime_dir = chosen(options.runtime_dir, "leaf_options.runtime_dir"),
                     .host_buffer = chosen(options.host_buffer, "leaf_options.host_buffer"),
                     .group = chosen(options.group, "leaf_options.group")},
                    file);
  settings.store.url = defaults.store.text;
  settings.store.variables = defaults.host.store_key;
  settings.host = defaults.buffers();
  if (!defaults.host.folder.empty()) settings.marks_of = defaults.host;
  take_worker_of_host(options, file, settings);
}

void take_what_is_said(const leaf_options& options, Settings& settings) {
  if (options.store == nullptr)
    throw Error(ErrorCode::usage, "leaf_options names no store",
                "set its member 'store', or use the host's defaults"_hint);
  if (options.config_file != nullptr)
    throw Error(ErrorCode::usage,
                "leaf_options names a configuration file and does without the host's defaults",
                "leave one of the two out"_hint);
  if (options.host_buffer == LEAF_YES && options.runtime_dir == nullptr)
    throw Error(ErrorCode::usage, "leaf_options names no folder for the host's buffers",
                "set its member 'runtime_dir'"_hint);
  settings.store.url = options.store;
  if (options.runtime_dir != nullptr)
    settings.marks_of = HostOptions{.folder = options.runtime_dir, .group = options.group == LEAF_YES};
  if (options.host_buffer != LEAF_NO) settings.host = settings.marks_of;
  settings.worker_name = options.worker_name == nullptr ? "localhost" : options.worker_name;
}

/// A child opens all this again, perhaps in another working folder and with other variables.
void keep_meaning(Settings& settings) {
  settings.store = host::to_keep(std::move(settings.store), std::nullopt);
  settings.store.marks = nullptr;  // each process has its own
  for (std::optional<HostOptions>* kept : {&settings.host, &settings.marks_of}) {
    if (*kept) *kept = host::to_keep(**kept, *settings.store.variables);
  }
}

}  // namespace

Settings settings_of(const leaf_options* given) {
  const leaf_options options = valid(given);
  Settings settings;
  if (options.use_host_defaults == LEAF_NO) {
    take_what_is_said(options, settings);
  } else {
    take_host_defaults(options, settings);
  }
  keep_meaning(settings);
  if (options.timeout_ms != 0) {
    settings.store.timeout =
        std::chrono::milliseconds(std::clamp<std::int64_t>(options.timeout_ms, 0, longest_timeout.count()));
  }
  settings.timeout = settings.store.timeout;
  if (options.program != nullptr) settings.store.program = options.program;
  if (options.layout != nullptr) settings.layout = Layout::parse(options.layout);
  return settings;
}

}  // namespace leaf::c
