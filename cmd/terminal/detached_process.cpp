#include "terminal/detached_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace leafctl {

namespace {

/// Closes what was inherited from whoever started this program. Its own files are all closed on exec.
void close_inherited_files() {
  DIR* const listing = opendir("/proc/self/fd");
  if (listing == nullptr) return;
  std::vector<int> inherited;
  while (const dirent* entry = readdir(listing)) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor <= STDERR_FILENO || descriptor == dirfd(listing)) continue;
    if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) inherited.push_back(descriptor);
  }
  closedir(listing);
  for (const int descriptor : inherited) close(descriptor);
}

void use_no_standard_streams() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (nothing < 0 || dup2(nothing, stream) < 0) _exit(EXIT_FAILURE);
  }
}

}  // namespace

void run_in_detached_process(const std::function<void()>& work) {
  if (fork() != 0) return;  // this process ends soon: its child is not waited for
  use_no_standard_streams();
  close_inherited_files();
  setsid();
  try {
    work();
  } catch (...) {
    // The library has noted it for whoever needs the result.
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace leafctl
