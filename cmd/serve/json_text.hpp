#pragma once

#include <string>
#include <string_view>

namespace leafctl::serve {

/// `text` as a string of JSON, quotes included, behind `out`. Bytes that are no UTF-8 become U+FFFD.
void append_json(std::string_view text, std::string& out);

}  // namespace leafctl::serve
