#include "doctor/check_text.hpp"

#include <doctest/doctest.h>

#include "terminal/record_text.hpp"

using leafctl::Check;
using leafctl::Checks;
using leafctl::CheckState;

TEST_CASE("check text: a table of 80 columns, its hints below") {
  const Checks checks{
      {"schema", CheckState::ok, "version 2"},
      {"durability", CheckState::warning,
       "fsync is off: a crash of its machine loses commits, and IDs may repeat after it", "run 'ALTER'"},
  };
  CHECK(leafctl::check_table(checks, false) ==
        "check       state    detail\n"
        "schema      ok       version 2\n"
        "durability  warning  fsync is off: a crash of its machine loses commits, and IDs\n"
        "                     may repeat after it\n"
        "                     hint: run 'ALTER'\n");
}

TEST_CASE("check text: states have colours, and nothing from a store reaches the terminal raw") {
  const std::string table = leafctl::check_table({{"a", CheckState::ok, "x"},
                                                  {"b", CheckState::warning, "x", "y"},
                                                  {"c", CheckState::failed, "\x1b[2J", "\x07"}},
                                                 true);
  CHECK(table ==
        "\033[1mcheck  state    detail\033[0m\n"
        "a      \033[32mok\033[0m       x\n"
        "b      \033[33mwarning\033[0m  x\n"
        "                hint: y\n"
        "c      \033[31mfailed\033[0m   \\x1b[2J\n"
        "                hint: \\x07\n");
}
