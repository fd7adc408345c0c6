#include "tags/tag_limit.hpp"

#include "leaf/error.hpp"
#include "leaf/tag.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"

namespace leafctl {

std::optional<std::int64_t> parse_limit(const std::string& text, std::int64_t lowest) {
  if (text == "none") return std::nullopt;
  try {
    return parse_integer("--limit", text, {lowest, leaf::max_id});
  } catch (const leaf::Error& error) {
    throw leaf::Error(error.code(), error.what(), "for no limit, write '--limit none'"_hint);
  }
}

}  // namespace leafctl
