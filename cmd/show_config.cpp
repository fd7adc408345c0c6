#include "cli/declaration.hpp"
#include "commands.hpp"

namespace leafctl {

namespace {

struct Shown {
  std::string key;
  std::string value;  ///< empty: none
  std::string origin;
};

constexpr Column<Shown> columns[] = {
    {"key", [](const Shown& shown) -> Cell { return shown.key; }},
    {"value", [](const Shown& shown) -> Cell { return shown.value.empty() ? Cell() : shown.value; }},
    {"origin", [](const Shown& shown) -> Cell { return Remark{shown.origin}; }},
};

class ShowConfig : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints each setting, its value and its origin: a flag, a variable, a line of a file, or the "
        "default; the first of these that names it counts. The named stores follow. Passwords are left "
        "out.\n\n"
        "The variable of a setting is LEAFCTL_ and its key in capitals, such as LEAFCTL_STORE. A file holds "
        "keys and values in YAML, such as 'timeout: 10s'.");
    command.add_examples(
        "Examples:\n"
        "  leafctl show-config\n"
        "  LEAFCTL_TIMEOUT=10s leafctl show-config\n"
        "  leafctl show-config --config staging.yaml -o json");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys;
    for (const Setting& setting : all_settings()) {
      if (!setting.is_global) keys.emplace_back(setting.key);
    }
    return keys;
  }

  bool uses_store() const override { return false; }

  void run(Session& session) override {
    std::vector<Shown> all;
    for (const SettingOrigin& setting : session.configuration.origins)
      all.push_back({setting.setting->key, setting.shown(), setting.origin});
    for (const auto& [name, store] : session.configuration.files.stores())
      all.push_back({"stores." + name, leaf::redact_url(store.text), store.place});
    session.output.print_list(columns, all);
  }
};

}  // namespace

std::unique_ptr<Command> make_show_config() {
  return std::make_unique<ShowConfig>();
}

}  // namespace leafctl
