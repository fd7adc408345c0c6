#include "terminal/hint_text.hpp"

#include <doctest/doctest.h>

#include "leaf/store.hpp"

using leafctl::with_option;

TEST_CASE("hint text: each command gets the store that the line named") {
  CHECK(with_option("run 'leafctl init-db'", "--store sqlite:/x") ==
        "run 'leafctl --store sqlite:/x init-db'");
  CHECK(with_option("'leafctl a', or 'leafctl b c'; 'psql'", "-s") ==
        "'leafctl -s a', or 'leafctl -s b c'; 'psql'");
  CHECK(with_option("'leafctl doctor --store \"x\"'", "-s") == "'leafctl doctor --store \"x\"'");
  CHECK(with_option("'leafctl --store=x doctor'", "-s") == "'leafctl --store=x doctor'");
  CHECK(with_option("see leafctl(1)", "-s") == "see leafctl(1)");
  CHECK(with_option("see 'leafctl bounds --help'", "-s") == "see 'leafctl bounds --help'");
  CHECK(with_option("'leafctl next", "-s") == "'leafctl -s next");
  CHECK(with_option("run 'leafctl init-db'", "") == "run 'leafctl init-db'");
  CHECK(with_option("", "-s").empty());
}

TEST_CASE("hint text: who draws for a group looks at what was granted to the group") {
  CHECK(with_option("raise it with 'leafctl tags update a --raise-to 4'; run 'leafctl doctor'", "-s", true) ==
        "raise it with 'leafctl -s tags update a --raise-to 4 --group'; run 'leafctl -s doctor --group'");
  CHECK(with_option("'leafctl next'", "", true) == "'leafctl next --group'");
  CHECK(with_option("'leafctl next --group a', 'leafctl nextest', 'leafctl init-db', 'leafctl next --help'",
                    "", true) ==
        "'leafctl next --group a', 'leafctl nextest', 'leafctl init-db', 'leafctl next --help'");
}

TEST_CASE("hint text: a name in which the option occurs is not the option") {
  for (const std::string command :
       {"add-tag web--store", "add-tag --stores", "add-tag x--store=y --start 1"}) {
    CHECK(with_option("run 'leafctl " + command + "'", "--store sqlite:/x") ==
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
