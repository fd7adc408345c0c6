#include "terminal/time_limit.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

namespace leafctl {

void exit_quietly_after(std::chrono::milliseconds limit) {
  std::signal(SIGALRM, [](int) { _exit(0); });
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const std::chrono::microseconds rest = limit - seconds;
  const itimerval timer{.it_interval = {}, .it_value = {seconds.count(), rest.count()}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace leafctl
