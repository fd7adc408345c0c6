#pragma once

#include <doctest/doctest.h>
#include <sys/resource.h>

namespace leaf::test {

/// While it lives this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const struct rlimit none { .rlim_cur = 0, .rlim_max = before_.rlim_max };
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  struct rlimit before_ {};
};

}  // namespace leaf::test
