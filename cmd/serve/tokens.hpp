#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leafctl::serve {

/// What stands for snowflake IDs among a token's tags, as no tag is called.
inline constexpr std::string_view snowflake_right = "@snowflake";

/// A token, and what may be drawn with it.
struct Token {
  std::string text;
  std::vector<std::string> tags{};  ///< empty: all, and snowflake IDs

  bool allows(std::string_view tag) const noexcept;
};

/// Who may draw: those that show a token of a file.
class Tokens {
 public:
  Tokens() = default;

  /// Of a file with a token on each line, and behind it, parted by blanks, the tags that it is for. Lines
  /// that begin with # and empty ones are left out. Throws leaf::Error (usage) if it cannot be read, may be
  /// read by everybody, holds no token, one that is shorter than 8 characters, a tag's name that is none.
  static Tokens read(const std::string& file);

  /// Null if there is no such token. Takes as long for any text of one length.
  const Token* find(std::string_view text) const noexcept;

 private:
  std::vector<Token> tokens_;
};

/// The token in the value of an Authorization field: `Bearer TOKEN`, or the password of `Basic`. Empty if
/// there is none.
std::string token_in(std::string_view authorization);

}  // namespace leafctl::serve
