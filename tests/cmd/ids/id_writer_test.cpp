#include "ids/id_writer.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

/// What an IdWriter prints for `items`, one after the other.
template <class Item>
std::string written(const std::string& before, const std::string& after, const std::vector<Item>& items) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  leafctl::OutputFile output(fileno(file), "a temporary file");
  leafctl::IdWriter writer(output, before, after);
  for (const auto& item : items) writer.write(item);
  std::string text(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_CUR)), '\0');
  CHECK(pread(fileno(file), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

std::string expected(const std::string& before, const std::string& after,
                     const std::vector<leaf::Range>& ranges) {
  std::string text;
  for (const leaf::Range& range : ranges) {
    for (std::int64_t id = range.lo; id < range.hi; ++id) text += before + std::to_string(id) + after;
  }
  return text;
}

const std::string long_prefix = "{\"tag\":\"" + std::string(128, 't') + "\",\"id\":\"";

}  // namespace

TEST_CASE("id writer: every range is printed in full, whatever digits change within it") {
  const std::vector<leaf::Range> ranges[] = {
      {{1, 2}},
      {{0, 25'000}},
      {{7, 7}},
      {{9'999, 10'001}},
      {{9'990, 30'010}},
      {{99'990, 130'010}},
      {{999'985'000, 1'000'020'003}},
      {{9'223'372'036'854'760'000, 9'223'372'036'854'775'807}},
      {{1'000'000, 1'000'001},
       {1'000'001, 1'000'005},
       {1'009'998, 1'050'003},
       {5, 7},
       {1'050'003, 1'050'004}},
      {{123'456, 123'460}, {223'457, 223'459}, {123'450, 123'470}},
  };
  for (const auto& list : ranges) {
    CAPTURE(list.front().lo);
    CHECK((written("", "\n", list) == expected("", "\n", list)));
    CHECK((written(long_prefix, "\"}\n", list) == expected(long_prefix, "\"}\n", list)));
  }
}

TEST_CASE("id writer: IDs that are not consecutive are printed one a line, in their order") {
  using Ids = std::vector<std::int64_t>;
  const std::vector<Ids> batches{{0}, {}, {9, 10, 7}, {9'223'372'036'854'775'807, 1}};
  CHECK(written("", "\n", batches) == "0\n9\n10\n7\n9223372036854775807\n1\n");
  CHECK(written("<", ">\n", std::vector<Ids>{{5, 123}}) == "<5>\n<123>\n");
}
