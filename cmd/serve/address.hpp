#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leafctl::serve {

/// Where to listen.
struct Address {
  std::string host;  ///< a name or number; empty for a path
  std::uint16_t port = 0;
  std::string path;  ///< of a Unix socket

  bool is_unix() const noexcept { return !path.empty(); }
  /// As it is given: HOST:PORT, [ADDRESS]:PORT or unix:PATH.
  std::string text() const;
};

/// Throws leaf::Error (usage), which names `option`.
Address parse_address(std::string_view option, std::string_view text);

}  // namespace leafctl::serve
