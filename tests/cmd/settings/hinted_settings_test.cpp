#include "settings/hinted_settings.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/host_files.hpp"

using namespace leafctl;

namespace {

struct Machine : leaf::test::HostFiles {
  Configuration resolve() const {
    Environment settled = environment();
    settled.parse_yaml = leaf::detail::parse_yaml;
    return resolve_settings(options, settled);
  }
  std::string hint_here() const { return with_options("'leafctl doctor'", hinted_options_here(options)); }
  std::string hint_elsewhere() const {
    return with_options("'leafctl doctor'", hinted_options_elsewhere(resolve()));
  }
  void choose(std::string_view key, const std::string& text) {
    options.values[find_setting(key).value()] = text;
  }

  GlobalOptions options;
};

}  // namespace

TEST_CASE("hinted settings: in the same shell, what the command line named") {
  Machine machine;
  machine.variables["LEAFCTL_RUNTIME_DIR"] = "/variable";
  CHECK(machine.hint_here() == "'leafctl doctor'");
  machine.choose("store", "ids");
  machine.choose("runtime_dir", "/run/x");
  machine.choose("group", "no");
  machine.options.config_file = "c.yaml";
  CHECK(machine.hint_here() ==
        "'leafctl --config c.yaml --store ids --runtime-dir /run/x doctor --group=no'");
}

TEST_CASE("hinted settings: elsewhere, whatever the store and the folder come from") {
  Machine machine;
  machine.variables["LEAFCTL_STORE"] = "dbname=ids";
  CHECK(machine.hint_elsewhere() == "'leafctl --store dbname=ids doctor'");
  machine.variables["LEAFCTL_RUNTIME_DIR"] = "/run/ids";
  CHECK(machine.hint_elsewhere() == "'leafctl --store dbname=ids --runtime-dir /run/ids doctor'");
  machine.write_system_file("group: yes\n");
  CHECK(machine.hint_elsewhere() == "'leafctl --store dbname=ids --runtime-dir /run/ids doctor --group'");
  // Another working folder is that of the reader.
  const std::string here = std::filesystem::current_path().string();
  machine.choose("store", "sqlite:ids.db");
  CHECK(machine.hint_elsewhere() ==
        "'leafctl --store sqlite:" + here + "/ids.db --runtime-dir /run/ids doctor --group'");
  machine.choose("store", "sqlite:/ids.db");
  machine.choose("group", "no");
  machine.variables["LEAFCTL_CONFIG"] = machine.write_system_file("timeout: 2s\n");
  CHECK(machine.hint_elsewhere() == "'leafctl --config " + machine.variables["LEAFCTL_CONFIG"] +
                                        " --store sqlite:/ids.db --runtime-dir /run/ids doctor'");
}
