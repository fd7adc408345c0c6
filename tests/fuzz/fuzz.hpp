#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

/// The target of this program, called with one input after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace leaf::fuzz {

/// Ends the program with a word on which promise `text` has broken, and so the fuzzer keeps the input.
[[noreturn]] inline void complain(std::string_view promise, std::string_view text = {}) {
  std::fprintf(stderr, "broken: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
               static_cast<int>(text.size()), text.data());
  std::abort();
}

inline void require(bool holds, std::string_view promise, std::string_view text = {}) {
  if (!holds) complain(promise, text);
}

/// Twice as wide as an ID: for arithmetic that does not overflow.
__extension__ typedef __int128 Wide;

/// A text in memory that ends where the text does, so that a sanitizer sees who reads on.
class Bounded {
 public:
  explicit Bounded(std::string_view text)
      : memory_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    text.copy(memory_.get(), size_);
  }
  std::string_view text() const { return {memory_.get(), size_}; }
  bool holds(std::string_view part) const {
    return part.empty() ||
           (part.data() >= memory_.get() && part.data() + part.size() <= memory_.get() + size_);
  }

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t size_;
};

/// What the fuzzer chose, one choice after the other; zeros when all are used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool are_left() const { return at_ < size_; }
  std::uint8_t byte() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }
  bool flag() { return byte() % 2 != 0; }
  /// From 0 to `count` - 1.
  std::size_t below(std::size_t count) { return byte() % count; }

  /// One of those at which numbers often go wrong, or of up to eight bytes.
  std::int64_t number() {
    static constexpr std::array<std::int64_t, 10> edges{0,
                                                        1,
                                                        -1,
                                                        100,
                                                        INT64_MAX,
                                                        INT64_MAX - 1,
                                                        INT64_MIN,
                                                        1 << 20,
                                                        std::int64_t{1} << 31,
                                                        std::int64_t{1} << 41};
    const std::uint8_t choice = byte();
    if (choice < edges.size()) return edges[choice];
    std::int64_t result = 0;
    for (int i = 0; i < choice % 9; ++i)
      result = static_cast<std::int64_t>(static_cast<std::uint64_t>(result) << 8 | byte());
    return result;
  }
  /// Up to `longest` bytes.
  std::string text(std::size_t longest = 40) {
    std::string result;
    for (std::size_t i = below(longest + 1); i > 0 && are_left(); --i) result += static_cast<char>(byte());
    return result;
  }
  /// All that was not chosen yet.
  std::string_view rest() {
    const char* const begin = reinterpret_cast<const char*>(data_) + at_;
    const std::size_t left = size_ - at_;
    at_ = size_;
    return left == 0 ? std::string_view() : std::string_view(begin, left);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace leaf::fuzz
