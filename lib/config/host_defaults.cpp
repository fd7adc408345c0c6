#include "leaf/host_defaults.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

#include "config/folders.hpp"
#include "config/values.hpp"
#include "leaf/detail/yes_no.hpp"
#include "leaf/error.hpp"
#include "store/libpq_variables.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

constexpr const char* origin_default = "default";

std::string name_of_host() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name) == 0 ? name : "";
}

/// Where the values of one host are found.
struct Source {
  const HostConfiguration& configuration;
  const Environment& environment;

  /// The choice, the variable or the file's, checked; else what `otherwise` makes, which is not.
  template <class Default>
  ConfiguredValue value(const std::optional<ConfiguredValue>& choice, const char* variable,
                        std::string_view key, Default otherwise) const {
    const auto found = choice ? choice : configuration.find(environment, variable, key);
    if (!found) return {otherwise(), origin_default};
    config::check_value(key, found->origin, found->text);
    return *found;
  }

  ConfiguredValue store(const std::optional<ConfiguredValue>& choice) const {
    ConfiguredValue store = value(choice, "LEAFCTL_STORE", "store",
                                  [&] { return "sqlite:" + default_store_folder(environment) + "/leaf.db"; });
    const std::string url = configuration.url_of(store.text);
    if (url != store.text) {
      store.origin += fmt::format(", '{}' in {}", store.text, configuration.stores().at(store.text).place);
      store.text = url;
    }
    return store;
  }

  ConfiguredValue yes_or_no(const std::optional<ConfiguredValue>& choice, const char* variable,
                            std::string_view key, const char* otherwise) const {
    return value(choice, variable, key, [otherwise] { return otherwise; });
  }
};

}  // namespace

Environment Environment::of_this_process() {
  return {.variable = [](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
          },
          .is_root = geteuid() == 0,
          .user_id = std::to_string(geteuid()),
          .host_name = name_of_host()};
}

std::string worker_name_of_host(const Environment& environment) {
  return is_owner_name(environment.host_name) ? environment.host_name : "localhost";
}

HostDefaults host_defaults(const HostConfiguration& configuration, const HostChoices& choices,
                           const Environment& environment) {
  const Source source{configuration, environment};
  HostDefaults result;
  result.store = source.store(choices.store);
  result.runtime_dir = source.value(choices.runtime_dir, "LEAFCTL_RUNTIME_DIR", "runtime_dir",
                                    [&] { return config::default_runtime_dir(environment); });
  result.host_buffer = source.yes_or_no(choices.host_buffer, "LEAFCTL_HOST_BUFFER", "host_buffer", "yes");
  result.group = source.yes_or_no(choices.group, "LEAFCTL_GROUP", "group", "no");
  result.uses_host_buffer = detail::parse_yes_no("host_buffer", result.host_buffer.text);
  result.host = {.folder = result.runtime_dir.text,
                 .group = detail::parse_yes_no("group", result.group.text),
                 .store_key = store::libpq_variables(environment.variable, environment.user_id)};
  result.host.store_files = store::libpq_service_files(result.host.store_key);
  return result;
}

StoreOptions HostDefaults::store_options() const {
  StoreOptions options{.url = store.text, .variables = host.store_key};
  if (!host.folder.empty()) options.marks = host_marks(host);
  return options;
}

namespace {

/// Whoever started the program has chosen its environment. File capabilities leave the user as it was.
void require_rights_of_starter() {
  const auto user = static_cast<uid_t>(getauxval(AT_UID));
  const auto group = static_cast<gid_t>(getauxval(AT_GID));
  const bool is_other = user != getauxval(AT_EUID) || group != getauxval(AT_EGID);
  if (getauxval(AT_SECURE) == 0 || !is_other || user == 0) return;
  uid_t users[3]{};
  gid_t groups[3]{};
  const bool are_known =
      getresuid(&users[0], &users[1], &users[2]) == 0 && getresgid(&groups[0], &groups[1], &groups[2]) == 0;
  // It has given up for good what it got beyond.
  if (are_known && std::ranges::count(users, user) == 3 && std::ranges::count(groups, group) == 3) return;
  throw Error(
      ErrorCode::usage,
      "a setuid or setgid program takes no defaults from the host: whoever starts it chooses its environment",
      "go without the host's defaults, and name the store and the runtime folder in the program"_hint);
}

}  // namespace

HostDefaults host_defaults(const HostChoices& choices, const std::optional<std::string>& file) {
  require_rights_of_starter();
  const Environment environment = Environment::of_this_process();
  const auto configuration = HostConfiguration::read(environment, file);
  HostDefaults result = host_defaults(configuration, choices, environment);
  if (configuration.unread_file() && result.store.origin == origin_default)
    throw Error(*configuration.unread_file());
  return result;
}

}  // namespace leaf
