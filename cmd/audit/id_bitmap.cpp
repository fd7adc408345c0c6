#include "audit/id_bitmap.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "leaf/error.hpp"

namespace leafctl {

IdBitmap::IdBitmap(std::int64_t first, std::size_t bytes)
    : first_(first), words_count_(bytes / sizeof *words_), words_(nullptr) {
  void* const memory = mmap(nullptr, words_count_ * sizeof *words_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw leaf::Error(leaf::ErrorCode::failed,
                      fmt::format("no memory for {} bytes: {}", bytes, std::strerror(errno)));
  }
  words_ = static_cast<std::uint64_t*>(memory);
}

IdBitmap::~IdBitmap() {
  munmap(words_, words_count_ * sizeof *words_);
}

bool IdBitmap::next(std::int64_t& id) noexcept {
  while (rest_of_word_ == 0) {
    if (next_word_ == words_count_) return false;
    rest_of_word_ = words_[next_word_++];
  }
  const auto bit = static_cast<std::uint64_t>(std::countr_zero(rest_of_word_));
  rest_of_word_ &= rest_of_word_ - 1;
  id = static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) + (next_word_ - 1) * 64 + bit);
  return true;
}

}  // namespace leafctl
