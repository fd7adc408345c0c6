#include "leaf/id_form.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace leaf {

namespace {

constexpr IdBase bases[] = {
    {"dec", "0123456789", 19},
    {"hex", "0123456789abcdef", 16},
    {"base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13},
    {"base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11},
};

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

char upper(char c) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

}  // namespace

void IdBase::append(std::int64_t id, std::size_t min_width, char padding, std::string& text) const {
  std::array<char, 19> reversed{};
  std::size_t count = 0;
  auto rest = static_cast<std::uint64_t>(id);
  do {
    reversed[count++] = digits[rest % digits.size()];
    rest /= digits.size();
  } while (rest != 0);
  if (count < min_width) text.append(min_width - count, padding);
  while (count > 0) text += reversed[--count];
}

std::optional<std::int64_t> IdBase::parse(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(canonical(c));
    if (digit == std::string_view::npos ||
        __builtin_mul_overflow(value, static_cast<std::int64_t>(digits.size()), &value) ||
        __builtin_add_overflow(value, static_cast<std::int64_t>(digit), &value)) {
      return std::nullopt;
    }
  }
  return value;
}

char IdBase::canonical(char digit) const {
  if (name == "hex") return lower(digit);
  if (name != "base32") return digit;
  const char c = upper(digit);
  return c == 'I' || c == 'L' ? '1' : c == 'O' ? '0' : c;
}

std::span<const IdBase> id_bases() {
  return bases;
}

const IdBase* find_id_base(std::string_view name) {
  const auto* found = std::ranges::find(bases, name, &IdBase::name);
  return found == std::end(bases) ? nullptr : found;
}

}  // namespace leaf
