#include "leaf/id_form.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using leaf::find_id_base;
using leaf::id_bases;
using leaf::IdBase;

namespace {

constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

std::string text_of(std::int64_t id, const IdBase& base, std::size_t width) {
  std::string text;
  base.append(id, width, '0', text);
  return text;
}

}  // namespace

TEST_CASE("ID base: known numbers are written as others write them") {
  CHECK(text_of(1256557484213448722, *find_id_base("hex"), 0) == "1170305fd666b012");
  CHECK(text_of(1256557484213448722, *find_id_base("base32"), 0) == "12W1GBZB6DC0J");
  CHECK(text_of(1256557484213448722, *find_id_base("base62"), 0) == "1Up2tABQZwQ");
  CHECK(text_of(greatest, *find_id_base("hex"), 0) == "7fffffffffffffff");
  CHECK(text_of(greatest, *find_id_base("base32"), 0) == "7ZZZZZZZZZZZZ");
  CHECK(text_of(greatest, *find_id_base("base62"), 0) == "AzL8n0Y58m7");
  CHECK(text_of(0, *find_id_base("base62"), 0) == "0");
}

TEST_CASE("ID base: what is written is read again, and the greatest ID fills the width") {
  for (const IdBase& base : id_bases()) {
    CAPTURE(base.name);
    for (const std::int64_t id : {std::int64_t{0}, std::int64_t{1}, std::int64_t{61}, std::int64_t{62},
                                  std::int64_t{1} << 53, greatest - 1, greatest}) {
      CHECK(base.parse(text_of(id, base, 0)) == id);
      CHECK(base.parse(text_of(id, base, base.width)) == id);
    }
    CHECK(text_of(greatest, base, 0).size() == base.width);
  }
}

TEST_CASE("ID base: texts of one width are in the order of their IDs") {
  const std::vector<std::int64_t> ids{0,  9,  10, 15,   16,   31,        32,      35,
                                      36, 61, 62, 3843, 3844, 1LL << 40, greatest};
  for (const IdBase& base : id_bases()) {
    CAPTURE(base.name);
    std::vector<std::string> texts;
    for (const std::int64_t id : ids) texts.push_back(text_of(id, base, base.width));
    CHECK(std::ranges::is_sorted(texts));
  }
}

TEST_CASE("ID base: case and look-alikes count only where the base knows them") {
  CHECK(find_id_base("hex")->parse("FF") == 255);
  CHECK(find_id_base("base32")->parse("zz") == find_id_base("base32")->parse("ZZ"));
  CHECK(find_id_base("base32")->parse("oIl1O") == find_id_base("base32")->parse("01110"));
  CHECK(find_id_base("base62")->parse("a") != find_id_base("base62")->parse("A"));
}

TEST_CASE("ID base: what is no number of the base or passes 63 bits is refused") {
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "g", "0x1", "8000000000000000", "10000000000000000"}) {
    CAPTURE(text);
    CHECK_FALSE(find_id_base("hex")->parse(text));
  }
  for (const char* text : {"U", "u", "8000000000000", "1-1"}) {
    CAPTURE(text);
    CHECK_FALSE(find_id_base("base32")->parse(text));
  }
  for (const char* text : {"AzL8n0Y58m8", "zzzzzzzzzzz", "_", "é"}) {
    CAPTURE(text);
    CHECK_FALSE(find_id_base("base62")->parse(text));
  }
  CHECK(find_id_base("base64") == nullptr);
}
