#include "serve/drawn_body.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "serve/http_response.hpp"
#include "serve/id_ranges.hpp"

namespace leafctl::serve {

namespace {

void append_list(std::span<const leaf::Range> ranges, std::string_view quote, std::string_view after,
                 std::string& out) {
  append_texts(ranges, quote, after, out);
  out.pop_back();  // the comma
}

/// A tag's name needs no escapes.
void append_own(DrawnForm form, std::string_view tag, std::span<const leaf::Range> ranges, std::string& out) {
  out += '{';
  if (!tag.empty()) {
    out += R"("tag":")";
    out += tag;
    out += "\",";
  }
  if (form == DrawnForm::ids) {
    out += R"("ids":[)";
    append_list(ranges, "\"", "\",", out);
  } else {
    out += R"("ranges":[)";
    for (const leaf::Range range : ranges)
      out += fmt::format(R"({{"first":"{}","last":"{}"}},)", range.lo, range.hi - 1);
    out.pop_back();
  }
  out += "]}\n";
}

/// Its IDs lie behind the current one, up to the greatest; at a fifth of them its client fetches the next
/// ones.
void append_tinyid_segment(DrawnForm form, std::span<const leaf::Range> ranges, std::string& out) {
  const std::int64_t current = ranges.front().lo - 1;
  const std::int64_t last = ranges.back().hi - 1;
  const std::int64_t loading = current + (last - current) / 5;
  if (form == DrawnForm::tinyid_segment) {
    out += fmt::format(
        R"({{"data":{{"maxId":{},"loadingId":{},"currentId":{},"delta":1,"remainder":0}},"code":200,"message":""}})",
        last, loading, current);
  } else {
    out += fmt::format("{},{},{},1,0", current, loading, last);
  }
}

}  // namespace

std::string_view content_type_of(DrawnForm form) noexcept {
  switch (form) {
    case DrawnForm::lines:
    case DrawnForm::plain:
    case DrawnForm::tinyid_lines:
    case DrawnForm::tinyid_segment_line:
      return text_type;
    default:
      return json_type;
  }
}

void append_drawn_body(DrawnForm form, std::string_view tag, std::span<const leaf::Range> ranges,
                       std::string& out) {
  switch (form) {
    case DrawnForm::plain:
      append_texts(ranges, {}, {}, out);
      break;
    case DrawnForm::lines:
      append_texts(ranges, {}, "\n", out);
      break;
    case DrawnForm::ids:
    case DrawnForm::ranges:
      append_own(form, tag, ranges, out);
      break;
    case DrawnForm::tinyid_list:
      out += R"({"data":[)";
      append_list(ranges, {}, ",", out);
      out += R"(],"code":200,"message":""})";
      break;
    case DrawnForm::tinyid_lines:
      append_list(ranges, {}, ",", out);
      break;
    case DrawnForm::tinyid_segment:
    case DrawnForm::tinyid_segment_line:
      append_tinyid_segment(form, ranges, out);
      break;
  }
}

}  // namespace leafctl::serve
