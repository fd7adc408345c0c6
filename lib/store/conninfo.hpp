#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// libpq's connection strings, read by own code: what a host has buffered is found by the store's URL, and
// loading libpq for that would cost a call more than all the rest of it. A test compares every answer with
// libpq's own.

namespace leaf::store {

struct Parameter {
  std::string keyword;      ///< as libpq calls it, such as "sslmode" for ssl=true and "host" for a URI's
  std::string value;        ///< without quotes, backslashes and percent-encoding
  std::size_t begin = 0;    ///< where the keyword stands in the text; where the value does if it has none
  std::size_t offset = 0;   ///< where the value stands in the text, as it is written there
  std::size_t length = 0;   ///< of that; what is written of a URI's hosts and ports is interleaved
  bool is_accepted = true;  ///< libpq knows the keyword and can decode the value
};

/// A connection string taken apart as far as that can be done.
struct Conninfo {
  std::vector<Parameter> parameters;  ///< in the text's order; the last of a keyword counts
  std::size_t end = 0;                ///< where the part that could not be taken apart begins
  const char* trouble = nullptr;      ///< why libpq refuses the text, quoting none of it; null if it does not
};

Conninfo take_apart(std::string_view text);

/// The parameters of `text`, as PQconninfoParse() has them; none where that refuses the text. libpq 18 and
/// later drop spaces around the parts of a URI, and refuse those inside; here they belong to the value, as
/// before.
std::optional<std::vector<Parameter>> parse_conninfo(std::string_view text);

/// Where the part after `postgresql://` begins; 0 if `text` is no such URI.
std::size_t uri_prefix_length(std::string_view text);

/// Where a URI's user and password end, with their '@': the hosts begin there.
std::size_t userinfo_end(std::string_view uri);

}  // namespace leaf::store
