#include "store/sqlite/lock_holders.hpp"

#include <doctest/doctest.h>

#include <sstream>

using leaf::store::sqlite::processes_that_lock;
using leaf::store::sqlite::text_of;

TEST_CASE("lock holders: those who lock what SQLite does in the file, writers first") {
  std::istringstream locks(
      "1: POSIX  ADVISORY  READ  12 fe:00:77 1073741826 1073742335\n"
      "2: POSIX  ADVISORY  WRITE 13 fe:00:77 1073741825 1073741825\n"
      "2: -> POSIX  ADVISORY  WRITE 14 fe:00:77 1073741824 1073741824\n"
      "3: FLOCK  ADVISORY  WRITE 15 fe:00:77 0 EOF\n"
      "4: OFDLCK ADVISORY  READ  -1 fe:00:77 0 EOF\n"
      "5: POSIX  ADVISORY  READ  13 fe:00:77 1073741826 1073742335\n"
      "6: POSIX  ADVISORY  WRITE 16 fe:00:78 1073741825 1073741825\n"
      "7: POSIX  ADVISORY  WRITE 17 fd:00:77 1073741825 1073741825\n"
      "8: POSIX  ADVISORY  WRITE 18 fe:00:77 0 100\n"
      "9: POSIX  ADVISORY  WRITE 19 fe:00:77 1073742336 EOF\n"
      "10: POSIX  ADVISORY  READ 20 fe:00:77 0 EOF\n"
      "torn line");
  CHECK(processes_that_lock(locks, 0xfe, 0, 77) == std::vector<std::int64_t>{13, 12, 20});
}

TEST_CASE("lock holders: as many are named as a line has room for") {
  CHECK(text_of({}) == "another process");
  CHECK(text_of({{12, "sqlite3"}}) == "process 12 ('sqlite3')");
  CHECK(text_of({{12, "a"}, {13, "b"}, {14, "c"}, {15, "d"}}) ==
        "processes 12 ('a'), 13 ('b'), 14 ('c') and 1 more");
}
