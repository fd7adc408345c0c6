#include "config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "leaf/detail/yes_no.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf::config {

void check_value(std::string_view key, std::string_view name, const std::string& text) {
  if (key == "store" && text.empty()) {
    throw Error(ErrorCode::usage, fmt::format("'{}' takes a store's URL, not an empty text", name),
                "such as sqlite:PATH or postgresql://HOST/DATABASE"_hint);
  }
  if (key == "runtime_dir" && !text.starts_with('/'))
    throw Error(ErrorCode::usage, fmt::format("'{}' takes a folder's full path, not '{}'", name, text));
  if (key == "host_buffer" || key == "group") detail::parse_yes_no(name, text);
}

bool is_store_name(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](unsigned char c) {
    return (std::isalnum(c) != 0 && c < 0x80) || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace leaf::config
