#include "settings/settings.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "leaf/error.hpp"
#include "support/host_files.hpp"
#include "support/usage_error.hpp"

using namespace std::chrono_literals;
using namespace leafctl;

namespace {

/// A host, and what its command line says.
struct Machine : leaf::test::HostFiles {
  Environment environment() const {
    Environment result = HostFiles::environment();
    result.is_root = is_root;
    result.host_name = host_name;
    result.parse_yaml = leaf::detail::parse_yaml;
    return result;
  }
  Configuration resolve() const { return resolve_settings(options, environment()); }
  std::string error() const {
    return leaf::test::usage_error([this] { resolve(); });
  }

  GlobalOptions options;
  bool is_root = false;
  std::string host_name = "web-1";
};

std::optional<std::string>& flag(Machine& machine, const std::string& key) {
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    if (key == all_settings()[i].key) return machine.options.values[i];
  }
  throw std::out_of_range(key);
}

std::string origin(const Configuration& configuration, const std::string& key) {
  for (const SettingOrigin& setting : configuration.origins) {
    if (key == setting.setting->key) return setting.origin;
  }
  return "missing";
}

}  // namespace

TEST_CASE("settings: flag, variable, user's file, system's file and default come in this order") {
  Machine machine;
  CHECK(machine.resolve().settings.timeout == 5s);
  CHECK(origin(machine.resolve(), "timeout") == "default");

  const std::string system_file = machine.write_system_file("color: never\ntimeout: 1s\n");
  CHECK(machine.resolve().settings.timeout == 1s);
  CHECK(origin(machine.resolve(), "timeout") == system_file + ":2");

  const std::string user_file = machine.write_user_file("timeout: 2s\n");
  CHECK(machine.resolve().settings.timeout == 2s);
  CHECK(origin(machine.resolve(), "timeout") == user_file + ":1");
  CHECK(origin(machine.resolve(), "color") == system_file + ":1");

  machine.variables["LEAFCTL_TIMEOUT"] = "3s";
  CHECK(machine.resolve().settings.timeout == 3s);
  CHECK(origin(machine.resolve(), "timeout") == "LEAFCTL_TIMEOUT");

  flag(machine, "timeout") = "4s";
  CHECK(machine.resolve().settings.timeout == 4s);
  CHECK(origin(machine.resolve(), "timeout") == "--timeout");
}

TEST_CASE("settings: every setting can come from a flag, a variable and a file, and has a default") {
  const std::map<std::string, std::string> values{
      {"store", "sqlite:/x.db"}, {"timeout", "7s"},        {"output", "json"},
      {"color", "never"},        {"layout", "twitter"},    {"worker_name", "billing"},
      {"worker_id", "7"},        {"window", "1m"},         {"max_skew", "1s"},
      {"max_backward", "0s"},    {"recycle_after", "24h"}, {"runtime_dir", "/run/x"},
      {"host_buffer", "no"},     {"group", "yes"}};
  for (const Setting& setting : all_settings()) {
    CAPTURE(setting.key);
    const std::string& value = values.at(setting.key);
    Machine machine;
    CHECK(origin(machine.resolve(), setting.key) == "default");
    const std::string file = machine.write_user_file(std::string(setting.key) + ": " + value + "\n");
    CHECK(origin(machine.resolve(), setting.key) == file + ":1");
    machine.variables[setting.variable] = value;
    CHECK(origin(machine.resolve(), setting.key) == setting.variable);
    flag(machine, setting.key) = value;
    CHECK(origin(machine.resolve(), setting.key) == setting.long_flag());
  }
}

TEST_CASE("settings: whether or not is said in any of the usual words, wherever it is said") {
  const std::map<std::string, bool> words{{"yes", true},    {"true", true}, {"on", true}, {"1", true},
                                          {"YES", true},    {"True", true}, {"oN", true}, {"no", false},
                                          {"false", false}, {"off", false}, {"0", false}, {"No", false}};
  for (const auto& pair : words) {
    const std::string& word =
        pair.first;  // which CAPTURE refers to: clang 14 captures no structured bindings
    const bool wanted = pair.second;
    CAPTURE(word);
    for (const std::string key : {"host_buffer", "group"}) {
      CAPTURE(key);
      const auto value = [&key](const Machine& machine) {
        const Settings settings = machine.resolve().settings;
        return key == "group" ? settings.group : settings.host_buffer;
      };
      Machine file;
      file.write_user_file(key + ": " + word + "\n");
      CHECK(value(file) == wanted);
      Machine variable;
      variable.variables[key == "group" ? "LEAFCTL_GROUP" : "LEAFCTL_HOST_BUFFER"] = word;
      CHECK(value(variable) == wanted);
      Machine on_the_line;
      flag(on_the_line, key) = word;
      CHECK(value(on_the_line) == wanted);
    }
  }
}

TEST_CASE("settings: another word than yes or no is told the usual ones") {
  for (const std::string word : {"maybe", "2", "y", " yes", "yes!", "10", "-1"}) {
    CAPTURE(word);
    Machine machine;
    machine.variables["LEAFCTL_GROUP"] = word;
    CHECK(machine.error() ==
          "'LEAFCTL_GROUP' takes yes, true, on or 1, or else no, false, off or 0, not '" + word + "'");
  }
  Machine machine;
  const std::string file = machine.write_user_file("host_buffer: never\n");
  CHECK(machine.error() ==
        file + ":1: 'host_buffer' takes yes, true, on or 1, or else no, false, off or 0, not 'never'");
}

TEST_CASE("settings: the user's file is the one of --config, of LEAFCTL_CONFIG, or in the XDG folder") {
  Machine machine;
  machine.write_user_file("timeout: 1s\n");
  machine.variables["XDG_CONFIG_HOME"] =
      std::filesystem::path(machine.write("xdg/leafctl/leafctl.yaml", "timeout: 2s\n"))
          .parent_path()
          .parent_path();
  CHECK(machine.resolve().settings.timeout == 2s);
  machine.variables["LEAFCTL_CONFIG"] = machine.write("variable.yaml", "timeout: 3s\n");
  CHECK(machine.resolve().settings.timeout == 3s);
  machine.options.config_file = machine.write("flag.yaml", "timeout: 4s\n");
  CHECK(machine.resolve().settings.timeout == 4s);
}

TEST_CASE("settings: a relative XDG folder is ignored") {
  Machine machine;
  machine.variables["XDG_STATE_HOME"] = "state";
  machine.variables["XDG_CONFIG_HOME"] = ".";
  CHECK(machine.resolve().settings.store ==
        "sqlite:" + machine.variables["HOME"] + "/.local/state/leafctl/leaf.db");
}

TEST_CASE("settings: a configuration file that is asked for has to be there") {
  Machine machine;
  machine.options.config_file = "/nonexistent.yaml";
  CHECK(machine.error() == "configuration file '/nonexistent.yaml' does not exist");
}

TEST_CASE("settings: an error names the flag, the variable or the line that is wrong") {
  Machine machine;
  const std::string file = machine.write_user_file("color: auto\noutput: xml\n");
  CHECK(machine.error() == file + ":2: 'output' takes text or json, not 'xml'");
  machine.write_user_file("");
  machine.variables["LEAFCTL_COLOR"] = "yes";
  CHECK(machine.error() == "'LEAFCTL_COLOR' takes auto, always or never, not 'yes'");
  machine.variables.erase("LEAFCTL_COLOR");
  flag(machine, "timeout") = "5";
  CHECK(machine.error() == "'--timeout' takes a duration from 0ms to 24h, not '5'");
  flag(machine, "timeout").reset();
  flag(machine, "store") = "";
  CHECK(machine.error() == "'--store' takes a store's URL, not an empty text");
}

TEST_CASE("settings: a wrong value in a file is an error even where a flag comes before it") {
  Machine machine;
  machine.write_user_file("timeout: soon\n");
  flag(machine, "timeout") = "5s";
  CHECK(machine.error().find(":1: 'timeout' takes a duration") != std::string::npos);
}

TEST_CASE("settings: the default store is the user's own, and root's is the system's") {
  Machine machine;
  CHECK(machine.resolve().settings.store ==
        "sqlite:" + machine.variables["HOME"] + "/.local/state/leafctl/leaf.db");
  machine.variables["XDG_STATE_HOME"] = "/state";
  CHECK(machine.resolve().settings.store == "sqlite:/state/leafctl/leaf.db");
  machine.is_root = true;
  CHECK(machine.resolve().settings.store == "sqlite:/var/lib/leafctl/leaf.db");
}

TEST_CASE("settings: without a home a store has to be named") {
  Machine machine;
  machine.variables.clear();
  CHECK(machine.error() == "there is no store: none is configured, and 'HOME' is not set");
  flag(machine, "store") = "sqlite:/x.db";
  CHECK(machine.error() == "no error");
}

TEST_CASE("settings: a store is shown without its password") {
  Machine machine;
  flag(machine, "store") = "postgresql://leaf:s3cret@db/ids";
  const Configuration configuration = machine.resolve();
  CHECK(configuration.settings.store == "postgresql://leaf:s3cret@db/ids");
  CHECK(configuration.origins.front().shown().find("s3cret") == std::string::npos);
  CHECK(configuration.origins.front().shown().find("leaf") != std::string::npos);
}

TEST_CASE("settings: colour is for terminals, unless NO_COLOR, a dumb terminal or the mode say otherwise") {
  Machine machine;
  CHECK_FALSE(use_color(ColorMode::automatic, true, machine.environment()));
  CHECK_FALSE(has_able_terminal(machine.environment()));
  CHECK(use_color(ColorMode::always, true, machine.environment()));
  machine.variables["TERM"] = "xterm";
  CHECK(has_able_terminal(machine.environment()));
  CHECK(use_color(ColorMode::automatic, true, machine.environment()));
  CHECK_FALSE(use_color(ColorMode::automatic, false, machine.environment()));
  CHECK(use_color(ColorMode::always, false, machine.environment()));
  CHECK_FALSE(use_color(ColorMode::never, true, machine.environment()));
  machine.variables["TERM"] = "dumb";
  CHECK_FALSE(use_color(ColorMode::automatic, true, machine.environment()));
  CHECK_FALSE(has_able_terminal(machine.environment()));
  machine.variables = {{"NO_COLOR", "1"}, {"TERM", "xterm"}};
  CHECK_FALSE(use_color(ColorMode::automatic, true, machine.environment()));
  CHECK(use_color(ColorMode::always, true, machine.environment()));
}

TEST_CASE("settings: nothing is assigned where a setting has no default") {
  Machine machine;
  const Configuration configuration = machine.resolve();
  CHECK_FALSE(configuration.settings.layout);
  CHECK_FALSE(configuration.settings.worker_id.worker_for("web-1"));
  CHECK(origin(configuration, "layout") == "default");
  flag(machine, "layout") = "";
  CHECK(machine.error() == "'--layout': unknown layout ''");
}

TEST_CASE("settings: a worker is called like the host, or localhost where that name will not do") {
  Machine machine;
  CHECK(machine.resolve().settings.worker_name == "web-1");
  machine.host_name = "a b";
  CHECK(machine.resolve().settings.worker_name == "localhost");
  machine.variables["LEAFCTL_WORKER_NAME"] = "billing";
  CHECK(machine.resolve().settings.worker_name == "billing");
  machine.variables["LEAFCTL_WORKER_NAME"] = "a b";
  CHECK(machine.error() ==
        "'LEAFCTL_WORKER_NAME' takes 1 to 255 printable ASCII characters without blanks, not 'a b'");
  machine.variables["LEAFCTL_WORKER_NAME"] = std::string(255, 'x');
  CHECK(machine.error() == "no error");
  machine.variables["LEAFCTL_WORKER_NAME"] = std::string(256, 'x');
  CHECK(machine.error() != "no error");
}

TEST_CASE("settings: a worker is pinned for whoever asks, or by name in a file") {
  Machine machine;
  const std::string file = machine.write_user_file("worker_id: {web-1: 3, web-2: 4}\n");
  CHECK(machine.resolve().settings.worker_id.worker_for("web-1") == 3);
  CHECK(machine.resolve().settings.worker_id.worker_for("web-2") == 4);
  CHECK_FALSE(machine.resolve().settings.worker_id.worker_for("web-3"));
  CHECK(origin(machine.resolve(), "worker_id") == file + ":1");
  machine.variables["LEAFCTL_WORKER_ID"] = "web-1=5";
  CHECK(machine.resolve().settings.worker_id.worker_for("web-1") == 5);
  CHECK_FALSE(machine.resolve().settings.worker_id.worker_for("web-2"));
  flag(machine, "worker_id") = "7";
  CHECK(machine.resolve().settings.worker_id.worker_for("web-2") == 7);
}

TEST_CASE("settings: a pin that is wrong is refused with its own line") {
  Machine machine;
  std::string file = machine.write_user_file("worker_id:\n  web-1: 3\n  web-2: many\n");
  CHECK(machine.error() == file + ":3: 'worker_id.web-2' takes a number from 0 to 2147483647, not 'many'");
  machine.write_user_file("worker_id:\n  web-1: 3\n  web-2: 3\n");
  CHECK(machine.error() == file + ":1: 'worker_id' gives worker 3 to 'web-1' and worker 3 to 'web-2'");
  machine.write_user_file("worker_id: {web-1: 3, web-1: 4}\n");
  CHECK(machine.error() == file + ":1: 'worker_id' gives worker 3 to 'web-1' and worker 4 to 'web-1'");
  machine.write_user_file("");
  for (const char* text : {"web-1=3,", ",web-1=3", "=3", "web-1=3,4", "web-1"}) {
    CAPTURE(text);
    machine.variables["LEAFCTL_WORKER_ID"] = text;
    CHECK(machine.error().find("'LEAFCTL_WORKER_ID' takes a number") == 0);
  }
}

TEST_CASE("settings: the host's buffers lie where all processes of a user find them, in memory") {
  Machine machine;
  machine.variables["XDG_RUNTIME_DIR"] = "/run/user/1000";
  const auto runtime_dir = [&](bool is_root, bool (*is_in_memory)(const std::string&)) {
    machine.is_root = is_root;
    auto environment = machine.environment();
    environment.user_id = "1000";
    environment.is_in_memory = is_in_memory;
    return resolve_settings({}, environment).settings.runtime_dir;
  };
  const auto everything = [](const std::string&) { return true; };
  CHECK(runtime_dir(true, everything) == "/run/leafctl");
  CHECK(runtime_dir(false, everything) == "/dev/shm/leafctl-1000");
  CHECK(runtime_dir(true, [](const std::string& path) { return path == "/dev/shm"; }) ==
        "/dev/shm/leafctl-1000");
  CHECK(runtime_dir(true, [](const std::string&) { return false; }).empty());

  // Root has made one for this user.
  const auto me = std::to_string(geteuid());
  auto given = machine.environment();
  given.is_root = false;
  given.user_id = me;
  given.run_folder = machine.variables["HOME"];
  given.is_in_memory = everything;
  const std::filesystem::path made = given.run_folder + "/leafctl-" + me;
  CHECK(resolve_settings({}, given).settings.runtime_dir != made);
  std::filesystem::create_directories(made);
  CHECK(resolve_settings({}, given).settings.runtime_dir == made);
  given.user_id = "4000000000";
  std::filesystem::rename(made, given.run_folder + "/leafctl-4000000000");
  CHECK(resolve_settings({}, given).settings.runtime_dir == "/dev/shm/leafctl-4000000000");

  // Another user was faster to make that folder.
  const std::string occupied =
      "/dev/shm/leafctl-" + std::to_string(4'000'000'000U + static_cast<unsigned>(getpid()));
  const auto runtime_dir_of_occupied = [&] {
    auto environment = machine.environment();
    environment.is_root = false;
    environment.user_id = occupied.substr(occupied.rfind('-') + 1);
    environment.is_in_memory = everything;
    return resolve_settings({}, environment).settings.runtime_dir;
  };
  CHECK(runtime_dir_of_occupied() == occupied);
  std::filesystem::create_directory(occupied);
  CHECK(runtime_dir_of_occupied().empty());
  std::filesystem::remove(occupied);

  machine.variables["LEAFCTL_RUNTIME_DIR"] = "run";
  CHECK_THROWS_WITH_AS(machine.resolve(), "'LEAFCTL_RUNTIME_DIR' takes a folder's full path, not 'run'",
                       leaf::Error);
}

TEST_CASE("settings: what libpq takes from the environment tells stores apart, but no password does") {
  Machine machine;
  const std::string home = machine.variables.at("HOME");
  CHECK(machine.resolve().settings.store_key ==
        "HOME=" + home + "\nEUID=" + machine.environment().user_id + "\n");
  machine.variables["PGHOST"] = "a";
  const std::string a = machine.resolve().settings.store_key;
  machine.variables["PGHOST"] = "b";
  CHECK(machine.resolve().settings.store_key != a);
  machine.variables["PGPASSWORD"] = "secret";
  CHECK(machine.resolve().settings.store_key.find("secret") == std::string::npos);
}
