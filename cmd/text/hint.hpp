#pragma once

#include <cstddef>

namespace leafctl {

/// Marks the text of a hint, which says what to do. Each that is marked stands in tests/cli/hints.tsv, with
/// the test that does what it says.
constexpr const char* operator""_hint(const char* text, std::size_t /*size*/) {
  return text;
}

}  // namespace leafctl
