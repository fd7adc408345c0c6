#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace leaf::host {

/// FNV-1a, 64 bits: tells files apart and finds damage; no protection against whoever may write the files.
/// Source: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
class Hash {
 public:
  /// Adds `text` and an end mark, so that "a" and "bc" differ from "ab" and "c".
  Hash& add(std::string_view text) noexcept {
    const std::size_t size = text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, text.data(), sizeof eight);
      // A zero only multiplies, and a text of fixed size ends in many.
      if (eight == 0) {
        value_ *= prime_to_the_8th;
      } else {
        add_bytes(text.substr(0, 8));
      }
    }
    add_bytes(text);
    return add_number(size);
  }
  Hash& add_number(std::uint64_t number) noexcept {
    for (int i = 0; i < 8; ++i, number >>= 8) add_byte(static_cast<unsigned char>(number));
    return *this;
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  static constexpr std::uint64_t prime = 0x100000001B3;
  static constexpr std::uint64_t prime_to_the_8th = [] {
    std::uint64_t power = 1;
    for (int i = 0; i < 8; ++i) power *= prime;
    return power;
  }();

  void add_byte(unsigned char byte) noexcept { value_ = (value_ ^ byte) * prime; }
  void add_bytes(std::string_view text) noexcept {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }

  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace leaf::host
