#include "tags/tag_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

TimeFromNow seen_now(leaf::UnixTime time) {
  return {time, std::max(time, current_time())};
}

}  // namespace

TimeFromNow updated(const leaf::Tag& tag) {
  return seen_now(tag.updated_at);
}

Cell granted(const leaf::Tag& tag) {
  return tag.granted_at ? seen_now(*tag.granted_at) : Cell();
}

bool is_tag_name(const std::string& name) {
  try {
    static_cast<void>(leaf::TagName(name));
    return true;
  } catch (const leaf::Error&) {
    return false;
  }
}

std::string describe(const leaf::Tag& tag, const char* name_of_next) {
  const std::string next =
      tag.next_id > leaf::max_id ? "no ID left" : fmt::format("{} {}", name_of_next, tag.next_id);
  return fmt::format("{}, step {}{}", next, tag.step, tag.limit ? fmt::format(", limit {}", *tag.limit) : "");
}

}  // namespace leafctl
