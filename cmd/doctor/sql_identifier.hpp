#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// A name as an identifier in SQL, whatever it is made of.
inline std::string sql_identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

}  // namespace leafctl
