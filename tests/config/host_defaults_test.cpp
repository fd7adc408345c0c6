#include "leaf/host_defaults.hpp"

#include <doctest/doctest.h>
#include <pwd.h>

#include <string>

#include "support/host_files.hpp"
#include "support/usage_error.hpp"

namespace {

/// A host, and what its user chooses.
struct Host : leaf::test::HostFiles {
  leaf::Environment environment() const {
    leaf::Environment result = HostFiles::environment();
    result.user_id = "1000";
    result.run_folder = path("run");
    result.is_in_memory = [](const std::string&) { return true; };
    return result;
  }
  leaf::HostDefaults defaults() const {
    return leaf::host_defaults(leaf::HostConfiguration::read(environment()), choices, environment());
  }
  std::string error() const {
    return leaf::test::usage_error([this] { defaults(); });
  }

  leaf::HostChoices choices;
};

}  // namespace

TEST_CASE("host defaults: without anything said they are those of the user") {
  const Host host;
  const auto defaults = host.defaults();
  CHECK(defaults.store.text == "sqlite:" + host.variables.at("HOME") + "/.local/state/leafctl/leaf.db");
  CHECK(defaults.store.origin == "default");
  CHECK(defaults.runtime_dir.text == "/dev/shm/leafctl-1000");
  CHECK(defaults.runtime_dir.origin == "default");
  REQUIRE(defaults.buffers());
  CHECK(defaults.buffers()->folder == "/dev/shm/leafctl-1000");
  CHECK_FALSE(defaults.buffers()->group);
  CHECK(defaults.host.store_key == "HOME=" + host.variables.at("HOME") + "\nEUID=1000\n");
  CHECK(defaults.host.store_files == std::vector<std::string>{host.variables.at("HOME") + "/.pg_service.conf",
                                                              "/etc/postgresql-common/pg_service.conf"});
}

TEST_CASE("host defaults: choice, variable, user's file, system's file and default come in this order") {
  Host host;
  const std::string system = host.write_system_file("runtime_dir: /run/system\ngroup: yes\n");
  CHECK(host.defaults().runtime_dir.text == "/run/system");
  CHECK(host.defaults().runtime_dir.origin == system + ":1");
  CHECK(host.defaults().host.group);
  const std::string user = host.write_user_file("# mine\nruntime_dir: /run/user\n");
  CHECK(host.defaults().runtime_dir.text == "/run/user");
  CHECK(host.defaults().runtime_dir.origin == user + ":2");
  CHECK(host.defaults().host.group);
  host.variables["LEAFCTL_RUNTIME_DIR"] = "/run/variable";
  host.variables["LEAFCTL_GROUP"] = "off";
  CHECK(host.defaults().runtime_dir.text == "/run/variable");
  CHECK(host.defaults().runtime_dir.origin == "LEAFCTL_RUNTIME_DIR");
  CHECK_FALSE(host.defaults().host.group);
  host.choices.runtime_dir = {"/run/choice", "--folder"};
  CHECK(host.defaults().host.folder == "/run/choice");
  CHECK(host.defaults().runtime_dir.origin == "--folder");
  host.choices.runtime_dir->text = "choice";
  CHECK(host.error() == "'--folder' takes a folder's full path, not 'choice'");
}

TEST_CASE("host defaults: a name stands for the store that a file gives it") {
  Host host;
  const std::string file = host.write_user_file("stores:\n  orders: sqlite:/orders.db\nstore: orders\n");
  CHECK(host.defaults().store.text == "sqlite:/orders.db");
  CHECK(host.defaults().store.origin == file + ":3, 'orders' in " + file + ":2");
  host.variables["LEAFCTL_STORE"] = "order";
  CHECK(host.error() == "there is no store 'order' in the configuration");
}

TEST_CASE("host defaults: where no buffers are wanted, or have a place, there are none") {
  Host host;
  host.variables["LEAFCTL_HOST_BUFFER"] = "no";
  CHECK_FALSE(host.defaults().buffers());
  CHECK(host.defaults().host.folder == "/dev/shm/leafctl-1000");
  host.variables.erase("LEAFCTL_HOST_BUFFER");
  auto nowhere = host.environment();
  nowhere.is_in_memory = [](const std::string&) { return false; };
  CHECK_FALSE(leaf::host_defaults(leaf::HostConfiguration(), {}, nowhere).buffers());
}

TEST_CASE(
    "host defaults: what libpq takes from the environment is a part of the store's key, no password is") {
  Host host;
  host.variables["PGHOST"] = "a";
  host.variables["PGPASSWORD"] = "secret";
  host.variables["PGSYSCONFDIR"] = "/etc/pg";
  host.variables["RES_OPTIONS"] = "ndots:2";
  CHECK(host.defaults().host.store_key ==
        "PGHOST=a\nPGSYSCONFDIR=/etc/pg\nHOME=" + host.variables.at("HOME") +
            "\nEUID=1000\nRES_OPTIONS=ndots:2\n");
  CHECK(host.defaults().host.store_files[1] == "/etc/pg/pg_service.conf");

  // As libpq has it: then the home of the user counts.
  host.variables.erase("HOME");
  host.variables["LEAFCTL_STORE"] = "postgresql:///ids";
  auto without_home = host.environment();
  without_home.user_id = "0";
  CHECK(leaf::host_defaults(leaf::HostConfiguration(), {}, without_home).host.store_files[0] ==
        std::string(getpwuid(0)->pw_dir) + "/.pg_service.conf");
}

TEST_CASE("host defaults: the file that is asked for is the one that is read") {
  Host host;
  host.write_user_file("group: maybe\n");
  const std::string file = host.write("other.yaml", "group: yes\n");
  CHECK(leaf::HostConfiguration::read(host.environment(), file).files().size() == 1);
  host.variables["LEAFCTL_CONFIG"] = file;
  CHECK(host.defaults().host.group);
  host.variables["LEAFCTL_CONFIG"] = "/nonexistent.yaml";
  CHECK(host.error() == "configuration file '/nonexistent.yaml' does not exist");
}
