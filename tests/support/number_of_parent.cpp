#include "support/number_of_parent.hpp"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace {
std::atomic<pid_t> shown{0};
}  // namespace

/// In the place of the system's, for this program and its libraries.
extern "C" __attribute__((visibility("default"))) pid_t getpid() noexcept {
  const pid_t instead = shown;
  return instead != 0 ? instead : static_cast<pid_t>(syscall(SYS_getpid));
}

namespace leaf::test {

NumberOfParent::NumberOfParent() {
  shown = getpid();
}
NumberOfParent::~NumberOfParent() {
  shown = 0;
}

}  // namespace leaf::test
