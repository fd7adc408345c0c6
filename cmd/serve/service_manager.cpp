#include "serve/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace leafctl::serve {

namespace {

std::optional<std::int64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

void notify_service_manager(std::string_view state) noexcept {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr) return;
  const std::string_view path = variable;
  sockaddr_un name{};
  // One that begins with @ lies in the abstract namespace.
  if (path.size() < 2 || path.size() >= sizeof name.sun_path || (path[0] != '/' && path[0] != '@')) return;
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  if (path[0] == '@') name.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket == -1) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  static_cast<void>(sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                           reinterpret_cast<const sockaddr*>(&name), size));
  close(socket);
}

std::optional<std::chrono::microseconds> watchdog_interval() {
  const auto interval = number_in("WATCHDOG_USEC");
  if (!interval || *interval <= 0) return std::nullopt;
  if (const auto process = number_in("WATCHDOG_PID"); process && *process != getpid()) return std::nullopt;
  return std::chrono::microseconds(*interval) / 2;
}

}  // namespace leafctl::serve
