#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace leafctl::serve {

/// Tells the service manager how the server does, by the socket that NOTIFY_SOCKET names; nothing where there
/// is none. See sd_notify(3).
void notify_service_manager(std::string_view state) noexcept;

/// Between two signs of life, as WATCHDOG_USEC asks for; none if it does not, or not of this process.
std::optional<std::chrono::microseconds> watchdog_interval();

}  // namespace leafctl::serve
