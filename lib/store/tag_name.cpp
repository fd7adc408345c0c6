#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "leaf/tag.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

constexpr std::size_t max_length = 128;

bool allowed(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == ':' || c == '-';
}

/// The name as it may be shown: what could move a terminal's cursor is written as \xNN.
std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, max_length)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return name.size() > max_length ? text + "..." : text;
}

}  // namespace

bool TagName::is_valid(std::string_view name) noexcept {
  return !name.empty() && name.size() <= max_length && std::all_of(name.begin(), name.end(), allowed);
}

TagName::TagName(std::string_view name) : name_(name) {
  constexpr const char* hint = "a tag's name has 1 to 128 characters of A-Z a-z 0-9 . _ : -"_hint;
  if (name.empty()) throw Error(ErrorCode::usage, "the name of a tag is empty", hint);
  if (name.size() > max_length) {
    throw Error(ErrorCode::usage,
                fmt::format("tag '{}' has a name of {} characters", shown(name), name.size()), hint);
  }
  if (!std::all_of(name.begin(), name.end(), allowed)) {
    throw Error(ErrorCode::usage, fmt::format("tag '{}' has a character that is not allowed", shown(name)),
                hint);
  }
}

}  // namespace leaf
