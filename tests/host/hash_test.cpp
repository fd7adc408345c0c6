#include "host/hash.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

/// FNV-1a, a byte at a time.
std::uint64_t fnv(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string with_length(std::string text) {
  for (std::uint64_t i = 0, size = text.size(); i < 8; ++i, size >>= 8)
    text += static_cast<char>(size & 0xFF);
  return text;
}

}  // namespace

TEST_CASE("hash: the values are those of FNV-1a, wherever zeros lie") {
  // Source: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
  REQUIRE(fnv("") == 0xCBF29CE484222325);
  REQUIRE(fnv("a") == 0xAF63DC4C8601EC8C);
  REQUIRE(fnv("foobar") == 0x85944171F73967E8);
  const std::string zeros(17, '\0');
  for (std::size_t before = 0; before < 18; ++before) {
    for (std::size_t length = 0; length <= zeros.size(); ++length) {
      for (const std::string_view after : {"", "b", "eight by", "\xFF more than eight"}) {
        const std::string text = std::string(before, 'a') + zeros.substr(0, length) + std::string(after);
        CAPTURE(before);
        CAPTURE(length);
        CHECK(leaf::host::Hash().add(text).value() == fnv(with_length(text)));
      }
    }
  }
}
