#include "store/uuid.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "leaf/error.hpp"

namespace leaf::store {

namespace {

/// Whether a dash comes before it.
constexpr bool begins_group(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

std::string new_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorCode::failed, "the system has no random numbers");
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (begins_group(i)) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

bool is_uuid(std::string_view text) noexcept {
  for (std::size_t byte = 0; byte < 16; ++byte) {
    if (begins_group(byte)) {
      if (!text.starts_with('-')) return false;
      text.remove_prefix(1);
    }
    if (text.find_first_not_of("0123456789abcdef") < 2 || text.size() < 2) return false;
    text.remove_prefix(2);
  }
  return text.empty();
}

}  // namespace leaf::store
