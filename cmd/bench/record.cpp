#include "bench/record.hpp"
#include "terminal/remedy_text.hpp"

#include <algorithm>
#include <string_view>

namespace leafctl {

namespace {

template <std::size_t size>
void copy(std::string_view text, char (&target)[size]) noexcept {
  const auto end = std::copy_n(text.data(), std::min(text.size(), size - 1), target);
  *end = '\0';
}

}  // namespace

void FailureRecord::set(const leaf::Error& error) noexcept {
  copy(error.what(), what_);
  copy(hint_text(error), hint_);
  code_ = static_cast<int>(error.code());
}

leaf::Error FailureRecord::error() const {
  return {static_cast<leaf::ErrorCode>(code_), what_, hint_};
}

}  // namespace leafctl
