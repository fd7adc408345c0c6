#include "leaf/detail/yes_no.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "leaf/error.hpp"

namespace leaf::detail {

namespace {

constexpr std::array<std::string_view, 4> words_for_yes{"yes", "true", "on", "1"};
constexpr std::array<std::string_view, 4> words_for_no{"no", "false", "off", "0"};

bool is_one_of(const std::array<std::string_view, 4>& words, std::string_view text) {
  return std::ranges::any_of(words, [text](std::string_view word) {
    return word.size() == text.size() && strncasecmp(word.data(), text.data(), word.size()) == 0;
  });
}

}  // namespace

bool parse_yes_no(std::string_view name, std::string_view text) {
  if (is_one_of(words_for_yes, text)) return true;
  if (is_one_of(words_for_no, text)) return false;
  throw Error(
      ErrorCode::usage,
      fmt::format("'{}' takes yes, true, on or 1, or else no, false, off or 0, not '{}'", name, text));
}

}  // namespace leaf::detail
