#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What must hold of any text that is given for a store, judged by libpq itself.

namespace leaf::test {

using Values = std::map<std::string, std::string>;

/// What PQconninfoParse() makes of a text.
struct Verdict {
  std::optional<Values> values;  ///< none if libpq refuses it
  std::string message;           ///< of the refusal
};
Verdict ask_libpq(const std::string& text);

/// What is wrong with what the library makes of `text`; empty if nothing is.
std::string complaint_about(const std::string& text, const Verdict& verdict);

/// What of `values` leads to a target, less what is secret: the key that an identity stands for.
Values target_of(Values values);

/// Four characters or more of `secret` that `shown` has and `open`, what may be shown, has not; empty if
/// none.
std::string leak(std::string_view shown, std::string_view secret, std::string_view open);

/// What libpq says of a connection that it does not even begin, though it has parsed the string.
std::string message_of_no_connection(const std::string& text);

}  // namespace leaf::test
