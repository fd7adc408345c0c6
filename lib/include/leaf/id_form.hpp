#pragma once

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/layout.hpp"

namespace leaf {

/// A base in which IDs are written. Its digits are in the order of ASCII, so that texts of one width are in
/// the order of their IDs wherever they are compared byte by byte.
struct IdBase {
  std::string_view name;
  std::string_view digits;
  std::size_t width;  ///< digits of the greatest ID

  /// Appends the number, filled up in front with `padding` to `min_width` characters. `id` is not
  /// negative.
  LEAF_EXPORT void append(std::int64_t id, std::size_t min_width, char padding, std::string& text) const;

  /// The number, if `text` has digits of this base only and it fits in 63 bits.
  LEAF_EXPORT std::optional<std::int64_t> parse(std::string_view text) const;

  /// The digit as append() writes it: hex and base32 are read in either case, and base32 takes I and L for 1,
  /// and O for 0, as Crockford specifies.
  LEAF_EXPORT char canonical(char digit) const;
};

/// dec, hex, base32 (Crockford's) and base62.
LEAF_EXPORT std::span<const IdBase> id_bases();

/// The base of that name, or null.
LEAF_EXPORT const IdBase* find_id_base(std::string_view name);

/// The form in which IDs are written where that is not plain decimal, such as `ORD-{date:%Y%m%d}-{id:>012}`.
/// Everything but the ID is of fixed width, so that every text can be read back.
///
///     {id}            decimal
///     {id:>012}       at least 12 characters, zeros in front; {id:>12} takes blanks
///     {id:base62}     in a base, in as many digits as the greatest ID has; {id:>08hex} in 8 at least
///     {date:%Y%m%d}   the UTC time with strftime's Y m d H M S j y F T; {date} is {date:%Y%m%d}
///     {{ }}           braces
///
/// Use one object from one thread at a time: it remembers the date that it wrote last.
class LEAF_EXPORT IdTemplate {
 public:
  /// Throws Error (usage) that says what is wrong.
  explicit IdTemplate(std::string_view text);

  /// The template as it was given.
  const std::string& text() const noexcept { return text_; }

  /// Appends the text of an ID, which is not negative, and a time from 1970 to 9999.
  void append(std::int64_t id, UnixTime time, std::string& to);

  /// The ID whose text, with the time in the ID, is `written`; none if there is no such ID in `layout`.
  std::optional<std::int64_t> read(std::string_view written, const Layout& layout);

 private:
  /// A text as it is, or the format of a date.
  struct Piece {
    std::string text;
    std::size_t width;
    bool is_date;
  };

  void parse();
  void parse_field(std::string_view field);
  void set_id(std::string_view field, std::string_view format);
  void add_date(std::string_view format);
  void add_text(char c);
  std::vector<Piece>& pieces() { return base_ == nullptr ? before_ : after_; }
  void turn_to(UnixTime time);

  std::string text_;
  std::vector<Piece> before_;
  std::vector<Piece> after_;
  const IdBase* base_ = nullptr;
  std::size_t min_width_ = 0;
  char padding_ = '0';

  // What surrounds the IDs of one second.
  std::optional<std::chrono::sys_seconds> second_;
  std::string text_before_;
  std::string text_after_;
};

/// The snowflake ID that `text` stands for, in decimal as it is written and with nothing around it, if
/// `layout` holds it.
inline std::optional<std::int64_t> parse_id(std::string_view text, const Layout& layout) noexcept {
  // One that was cut at its left may begin with zeros.
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  std::int64_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  // "-0" is a number, and not negative.
  if (error != std::errc{} || rest != end || text[0] == '-' || !layout.holds(id)) return std::nullopt;
  return id;
}

/// Why parse_id() gave nothing; `usage`.
LEAF_EXPORT Error id_error(std::string_view text, const Layout& layout);
/// Why IdTemplate::read() gave nothing; `usage`.
LEAF_EXPORT Error id_error(std::string_view text, const Layout& layout, IdTemplate& form);

}  // namespace leaf
