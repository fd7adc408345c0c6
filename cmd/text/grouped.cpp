#include "text/grouped.hpp"

#include <fmt/format.h>

#include <cmath>

namespace leafctl {

namespace {

/// Parts the digits of `text` that stand behind `first` of its characters.
std::string part(std::string text, std::size_t first) {
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  return part(std::to_string(number), 0);
}

std::string grouped(std::int64_t number) {
  return part(std::to_string(number), number < 0 ? 1 : 0);
}

std::string rough_number(double number) {
  return number < 99.95 ? fmt::format("{:.3g}", number) : grouped(std::int64_t{std::llround(number)});
}

}  // namespace leafctl
