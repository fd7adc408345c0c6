#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ids/id_base.hpp"
#include "leaf/layout.hpp"

namespace leafctl {

/// The form in which IDs are written where that is not plain decimal, such as `ORD-{date:%Y%m%d}-{id:>012}`.
/// Everything but the ID is of fixed width, so that every text can be read back.
///
///     {id}            decimal
///     {id:>012}       at least 12 characters, zeros in front; {id:>12} takes blanks
///     {id:base62}     in a base, in as many digits as the greatest ID has; {id:>08hex} in 8 at least
///     {date:%Y%m%d}   the UTC time with strftime's Y m d H M S j y F T; {date} is {date:%Y%m%d}
///     {{ }}           braces
class IdTemplate {
 public:
  /// Throws leaf::Error (usage) that says what is wrong.
  explicit IdTemplate(std::string_view text);

  /// The template as it was given.
  const std::string& text() const noexcept { return text_; }

  /// Appends the text of an ID and a time from 1970 to 9999.
  void append(std::int64_t id, leaf::UnixTime time, std::string& to);

  /// The ID that `written` is the text of, with the time that is in the ID; none if there is no such ID in
  /// `layout`.
  std::optional<std::int64_t> read(std::string_view written, const leaf::Layout& layout);

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
  void turn_to(leaf::UnixTime time);

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

}  // namespace leafctl
