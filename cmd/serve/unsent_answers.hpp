#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leafctl::serve {

/// Answers that a client has not taken at once, and since when it has been taking the first of them. Holds no
/// memory while there are none.
class UnsentAnswers {
 public:
  using Time = std::chrono::steady_clock::time_point;

  bool empty() const noexcept { return sent_ == text_.size(); }
  /// What is to be sent next.
  std::string_view rest() const noexcept { return std::string_view(text_).substr(sent_); }
  /// Bytes of memory.
  std::size_t held() const noexcept { return text_.size() + ends_.size() * sizeof ends_[0]; }

  /// Keeps what was not sent of `answers`, of which there is more: their first `sent` bytes are. Each one
  /// ends at one of `ends`; without these they are one.
  void add(std::string_view answers, std::span<const std::uint32_t> ends, std::size_t sent, Time now);
  /// So many further bytes were sent.
  void take(std::size_t count, Time now);
  /// Whether the first one has been on its way for longer than `patience`: each has that time, from when all
  /// before it were sent.
  bool is_late(Time now, std::chrono::milliseconds patience) const noexcept {
    return !empty() && now - begun_ > patience;
  }

 private:
  std::string text_;
  std::vector<std::uint32_t> ends_;  ///< in the text
  std::size_t sent_ = 0;
  std::size_t next_ = 0;  ///< the first of ends_ that is not sent
  Time begun_{};
};

}  // namespace leafctl::serve
