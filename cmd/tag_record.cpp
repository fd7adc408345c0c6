#include "tag_record.hpp"

#include <fmt/format.h>

namespace leafctl {

std::string describe(const leaf::Tag& tag) {
  return fmt::format("next ID {}, step {}{}", tag.next_id, tag.step,
                     tag.limit ? fmt::format(", limit {}", *tag.limit) : "");
}

}  // namespace leafctl
