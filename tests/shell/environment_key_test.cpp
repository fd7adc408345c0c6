#include "shell/environment_key.hpp"

#include <doctest/doctest.h>

#include <string>

using leaf::shell::EnvironmentKey;
using leaf::shell::leads_to_store;

TEST_CASE("environment key: what leads to a store is known with its value and by its name alone") {
  for (const std::string name : {"HOME", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "PGSERVICE",
                                 "LEAFCTL_STORE", "XDG_STATE_HOME"}) {
    CAPTURE(name);
    CHECK(leads_to_store(name.c_str()));
    CHECK(leads_to_store((name + "=a").c_str()));
  }
  for (const char* const other : {"HOMES=a", "RES_OPTION=a", "LOCALDOMAINS", "LEAF=a", "PATH=a", ""}) {
    CAPTURE(other);
    CHECK_FALSE(leads_to_store(other));
  }
}

TEST_CASE("environment key: it is another one once a variable that leads to a store has changed") {
  std::string options = "RES_OPTIONS=ndots:1", other = "TERM=dumb";
  char* const before[] = {options.data(), other.data(), nullptr};
  const EnvironmentKey key(before, "/a");
  CHECK(key.is_of(before, "/a"));
  CHECK_FALSE(key.is_of(before, "/b"));
  std::string new_options = "RES_OPTIONS=ndots:2", new_other = "TERM=vt100";
  char* const with_options[] = {new_options.data(), other.data(), nullptr};
  CHECK_FALSE(key.is_of(with_options, "/a"));
  char* const with_other[] = {options.data(), new_other.data(), nullptr};
  CHECK(key.is_of(with_other, "/a"));
}
