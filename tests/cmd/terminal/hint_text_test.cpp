#include "terminal/hint_text.hpp"

#include <doctest/doctest.h>

#include "leaf/store.hpp"

using leafctl::with_options;

TEST_CASE("hint text: each command gets the store that the line named") {
  CHECK(with_options("run 'leafctl init-db'", {.store = "sqlite:/x"}) ==
        "run 'leafctl --store sqlite:/x init-db'");
  CHECK(with_options("'leafctl a', or 'leafctl b c'; 'psql'", {.store = "s"}) ==
        "'leafctl --store s a', or 'leafctl --store s b c'; 'psql'");
  CHECK(with_options("'leafctl doctor --store \"x\"'", {.store = "s"}) == "'leafctl doctor --store \"x\"'");
  CHECK(with_options("'leafctl --store=x doctor'", {.store = "s"}) == "'leafctl --store=x doctor'");
  CHECK(with_options("see leafctl(1)", {.store = "s"}) == "see leafctl(1)");
  CHECK(with_options("see 'leafctl bounds --help'", {.store = "s"}) == "see 'leafctl bounds --help'");
  CHECK(with_options("'leafctl next", {.store = "s"}) == "'leafctl --store s next");
  CHECK(with_options("run 'leafctl init-db'", {}) == "run 'leafctl init-db'");
  CHECK(with_options("", {.store = "s"}).empty());
}

TEST_CASE("hint text: a command that names its store looks at this host's folder all the same") {
  CHECK(with_options("'leafctl --store other doctor'",
                     {.config = "/c.yaml", .store = "s", .runtime_dir = "/run/a b", .group = true}) ==
        "'leafctl --config /c.yaml --runtime-dir \"/run/a b\" --store other doctor --group'");
  CHECK(with_options("'leafctl --store \"dbname=ids user=u\" next'", {.store = "s", .group = true}) ==
        "'leafctl --store \"dbname=ids user=u\" next --group'");
  CHECK(with_options("'leafctl --store next init-db', 'leafctl --store next", {.group = true}) ==
        "'leafctl --store next init-db', 'leafctl --store next");
  CHECK(with_options("'leafctl --config c --runtime-dir=r next --group=no'",
                     {.config = "/c.yaml", .runtime_dir = "/r", .group = true}) ==
        "'leafctl --config c --runtime-dir=r next --group=no'");
}

TEST_CASE("hint text: who draws for a group looks at what was granted to the group") {
  CHECK(with_options("raise it with 'leafctl tags update a --raise-to 4'; run 'leafctl doctor'",
                     {.store = "s", .group = true}) ==
        "raise it with 'leafctl --store s tags update a --raise-to 4 --group'; "
        "run 'leafctl --store s doctor --group'");
  CHECK(with_options("'leafctl next'", {.group = true}) == "'leafctl next --group'");
  CHECK(with_options("'leafctl next'", {.group = false}) == "'leafctl next --group=no'");
  CHECK(with_options("'leafctl next --group a', 'leafctl nextest', 'leafctl init-db', 'leafctl next --help'",
                     {.group = true}) ==
        "'leafctl next --group a', 'leafctl nextest', 'leafctl init-db', 'leafctl next --help'");
}

TEST_CASE("hint text: a name in which the option occurs is not the option") {
  for (const std::string command :
       {"add-tag web--store", "add-tag --stores", "add-tag x--store=y --start 1"}) {
    CHECK(with_options("run 'leafctl " + command + "'", {.store = "sqlite:/x"}) ==
          "run 'leafctl --store sqlite:/x " + command + "'");
  }
}

TEST_CASE("hints: where commands may lead to another store, each names the one that is meant") {
  using leafctl::hint_for_store;
  CHECK(hint_for_store("run 'leafctl init-db'", "sqlite:/a b.db") ==
        "run 'leafctl --store \"sqlite:/a b.db\" init-db'");
  CHECK(hint_for_store("wait", "sqlite:/x") == "wait");
  CHECK(hint_for_store("'leafctl doctor'", "postgresql://leaf:secret@db/ids") ==
        "'leafctl --store STORE doctor'");
  CHECK(hint_for_store("'leafctl doctor'", leaf::redact_url("postgresql://leaf:secret@db/ids")) ==
        "'leafctl --store STORE doctor'");
}
