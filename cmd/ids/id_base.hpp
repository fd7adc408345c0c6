#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leafctl {

/// A base in which IDs are written. Its digits are in the order of ASCII, so that texts of one width are in
/// the order of their IDs wherever they are compared byte by byte.
struct IdBase {
  std::string_view name;
  std::string_view digits;
  std::size_t width;  ///< digits of the greatest ID

  /// Appends the number, filled up in front with `padding` to `min_width` characters. `id` is not
  /// negative.
  void append(std::int64_t id, std::size_t min_width, char padding, std::string& text) const;

  /// The number, if `text` has digits of this base only and it fits in 63 bits.
  std::optional<std::int64_t> parse(std::string_view text) const;

  /// The digit as append() writes it: hex and base32 are read in either case, and base32 takes I and L for 1,
  /// O for 0, as Crockford has it.
  char canonical(char digit) const;
};

/// dec, hex, base32 (Crockford's) and base62.
std::span<const IdBase> id_bases();

/// The base of that name, or null.
const IdBase* find_id_base(std::string_view name);

}  // namespace leafctl
