#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leafctl::serve {

/// A command of Redis' protocol: its name and arguments, which lie in the input.
class RespCommand {
 public:
  static constexpr std::size_t max_words = 64;
  /// The longest word, and the longest line of a command that is typed by hand.
  static constexpr std::size_t max_word = 16 * 1024;
  /// What all words may take together, with what frames them.
  static constexpr std::size_t max_size = 64 * 1024;

  enum class Parsed {
    complete,
    incomplete,  ///< more input is needed
    empty,       ///< a command without words, which gets no answer
    wrong,       ///< what follows means nothing any more
  };

  /// Reads the command that `input` begins with, and how long it is. Keeps nothing of former ones.
  Parsed parse(std::string_view input);

  std::span<const std::string_view> words() const noexcept { return {words_.data(), count_}; }
  std::string_view name() const noexcept { return words_[0]; }
  std::size_t size() const noexcept { return size_; }
  /// What is wrong, in Redis' words.
  std::string_view mistake() const noexcept { return mistake_; }

 private:
  Parsed parse_array(std::string_view input);
  Parsed parse_inline(std::string_view input);
  Parsed wrong(std::string_view mistake);

  std::array<std::string_view, max_words> words_;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
  std::string mistake_;
};

/// A decimal number as Redis reads it: a minus sign at most, no blanks, no leading zeros.
std::optional<std::int64_t> parse_resp_integer(std::string_view text) noexcept;

/// True if `word` is `name`, which is in capitals, in whatever case.
bool is_command(std::string_view word, std::string_view name) noexcept;

// Answers, behind `out`.

void append_resp_integer(std::int64_t value, std::string& out);
void append_resp_bulk(std::string_view text, std::string& out);
/// `text` has no line ends.
void append_resp_status(std::string_view text, std::string& out);
/// `kind` is a word in capitals. Line ends and other control characters of `text` become blanks.
void append_resp_error(std::string_view kind, std::string_view text, std::string& out);
void append_resp_array(std::size_t size, std::string& out);
/// A map of RESP3; of RESP2 an array of twice as many.
void append_resp_map(std::size_t size, int protocol, std::string& out);
void append_resp_null(int protocol, std::string& out);

}  // namespace leafctl::serve
