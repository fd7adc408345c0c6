#include "bench/record.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

template <std::size_t size>
void copy(std::string_view text, char (&target)[size]) noexcept {
  const auto end = std::copy_n(text.data(), std::min(text.size(), size - 1), target);
  *end = '\0';
}

/// Elsewhere an option does without the host's buffers; a benchmark uses them only if an option says so.
std::string hint_for_benchmark(const leaf::Error& error) {
  const bool may_do_without = std::ranges::any_of(error.remedies(), [](const leaf::Remedy& remedy) {
    return remedy.kind == leaf::Remedy::Kind::do_without_host;
  });
  return may_do_without ? "name another folder with '--runtime-dir', or leave '--host-buffer' out"_hint
                        : hint_text(error);
}

}  // namespace

void FailureRecord::set(const leaf::Error& error) noexcept {
  copy(error.what(), what_);
  copy(hint_for_benchmark(error), hint_);
  code_ = static_cast<int>(error.code());
}

leaf::Error FailureRecord::error() const {
  return {static_cast<leaf::ErrorCode>(code_), what_, hint_};
}

}  // namespace leafctl
