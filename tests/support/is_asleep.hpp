#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <fstream>
#include <string>

namespace leaf::test {

/// Whether a thread, of whatever process, waits for something.
inline bool is_asleep(pid_t thread) {
  std::ifstream status(fmt::format("/proc/{}/stat", thread));
  std::string number, name, state;
  status >> number >> name >> state;
  return state == "S";
}

}  // namespace leaf::test
