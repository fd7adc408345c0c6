#include "commands.hpp"
#include "declaration.hpp"

namespace leafctl {

namespace {

constexpr Column<SettingOrigin> origin_columns[] = {
    {"key", [](const SettingOrigin& setting) -> Cell { return std::string(setting.setting->key); }},
    {"value",
     [](const SettingOrigin& setting) -> Cell { return setting.text.empty() ? Cell() : setting.shown(); }},
    {"origin", [](const SettingOrigin& setting) -> Cell { return Remark{setting.origin}; }},
};

class ShowConfig : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints each setting, its value and where that came from: a flag, a variable, a line of a file, or "
        "the default; the first of these that names it counts. Passwords are left out.\n\n"
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
    session.output.print_list(origin_columns, session.configuration.origins);
  }
};

}  // namespace

std::unique_ptr<Command> make_show_config() {
  return std::make_unique<ShowConfig>();
}

}  // namespace leafctl
