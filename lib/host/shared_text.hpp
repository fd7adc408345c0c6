#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace leaf::host {

/// A short text in shared memory, all zero when empty. Longer ones are cut. A reader without the lock of the
/// writer may see parts of two texts, and never more than `size` bytes.
template <std::size_t size>
class SharedText {
  static_assert(size % sizeof(std::uint64_t) == 0);

 public:
  void set(std::string_view text) noexcept {
    std::array<std::uint64_t, words> copy{};
    std::memcpy(copy.data(), text.data(), std::min(text.size(), size));
    for (std::size_t i = 0; i < words; ++i) words_[i].store(copy[i], std::memory_order_relaxed);
  }

  std::string get() const {
    std::array<std::uint64_t, words> copy{};
    for (std::size_t i = 0; i < words; ++i) copy[i] = words_[i].load(std::memory_order_relaxed);
    const char* const text = reinterpret_cast<const char*>(copy.data());
    return {text, strnlen(text, size)};
  }

  bool empty() const noexcept { return words_[0].load(std::memory_order_relaxed) == 0; }

 private:
  static constexpr std::size_t words = size / sizeof(std::uint64_t);
  std::array<std::atomic<std::uint64_t>, words> words_{};
};

}  // namespace leaf::host
