#pragma once

#include <span>
#include <string>
#include <string_view>

#include "leaf/range.hpp"

namespace leafctl::serve {

/// How drawn IDs are written over HTTP.
enum class DrawnForm {
  ids,     ///< JSON with each ID
  ranges,  ///< JSON with the first and last of each run
  lines,
  plain,  ///< one ID and nothing else, as Leaf writes it
  tinyid_list,
  tinyid_lines,
  tinyid_segment,
  tinyid_segment_line,
};

std::string_view content_type_of(DrawnForm form) noexcept;

/// The body of an answer, behind `out`. `tag` is empty for snowflake IDs; there is at least one range.
void append_drawn_body(DrawnForm form, std::string_view tag, std::span<const leaf::Range> ranges,
                       std::string& out);

}  // namespace leafctl::serve
