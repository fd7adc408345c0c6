#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace leaf::test {

/// Says what a test has counted, on a line that scripts/report puts on the page of tests: figure("race/tag",
/// 100, "IDs drawn").
template <typename Count>
void figure(std::string_view of, Count count, std::string_view what) {
  fmt::print("figure: {} {} {}\n", of, count, what);
  std::fflush(stdout);
}

}  // namespace leaf::test
