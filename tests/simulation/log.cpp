#include "simulation/log.hpp"

namespace leaf::simulation {

namespace {

/// Seconds since the history began are easier to read than a date.
double shown_time() {
  constexpr Time day = 24 * 60 * minute;
  return static_cast<double>(Scheduler::the().now() % day) / static_cast<double>(second);
}

}  // namespace

void Log::print(std::string_view what, int who, std::int64_t a, std::int64_t b) const {
  std::fprintf(text_, "%15.9f  %3d  %-28.*s %lld %lld\n", shown_time(), who, static_cast<int>(what.size()),
               what.data(), static_cast<long long>(a), static_cast<long long>(b));
}

void Log::say(std::string_view what, int who, std::string_view text) {
  if (text_ == nullptr) return;
  std::fprintf(text_, "%15.9f  %3d  %-28.*s %.*s\n", shown_time(), who, static_cast<int>(what.size()),
               what.data(), static_cast<int>(text.size()), text.data());
}

}  // namespace leaf::simulation
