#pragma once

#include <cstdint>
#include <string_view>

namespace leaf::host {

/// FNV-1a, 64 bits: tells files apart and finds damage; no protection against whoever may write the files.
/// Source: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
class Hash {
 public:
  /// Adds `text` and an end mark, so that "a" and "bc" differ from "ab" and "c".
  Hash& add(std::string_view text) noexcept {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    return add_number(text.size());
  }
  Hash& add_number(std::uint64_t number) noexcept {
    for (int i = 0; i < 8; ++i, number >>= 8) add_byte(static_cast<unsigned char>(number));
    return *this;
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void add_byte(unsigned char byte) noexcept { value_ = (value_ ^ byte) * 0x100000001B3; }

  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace leaf::host
