#include "serve/address.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "leaf/error.hpp"

namespace leafctl::serve {

std::string Address::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Address parse_address(std::string_view option, std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'{}' takes HOST:PORT, [ADDRESS]:PORT or unix:PATH, not '{}': {}", option, text, why));
  };
  Address address;
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    if (address.path.empty()) throw wrong("the path is missing");
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
      throw wrong(
          fmt::format("the path of a socket has at most {} bytes", sizeof(sockaddr_un::sun_path) - 1));
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) throw wrong("the port is missing");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw wrong("write an IPv6 address in brackets");
  }
  if (host.empty()) throw wrong("the host is missing; use 0.0.0.0 or [::] for all addresses");
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || read.ec != std::errc() || read.ptr != port.data() + port.size())
    throw wrong("a port is a number from 0 to 65535");
  address.host = host;
  return address;
}

}  // namespace leafctl::serve
