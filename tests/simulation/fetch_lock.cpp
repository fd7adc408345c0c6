// In the place of lib/host/fetch_lock.cpp: no program of the simulation forks, and what a process notes for
// its children would be shared by all processes and histories.
#include "host/fetch_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace leaf::host {

namespace {
std::mutex mutex;
}  // namespace

bool lock_file(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

void unlock_file(int) {}  // closing does, where nobody forks

NoFork::Counted::Counted() = default;
NoFork::Counted::~Counted() = default;
NoFork::NoFork() : lock_(mutex) {}

FetchLock::FetchLock(Descriptor descriptor) : descriptor_(std::move(descriptor)), holder_(0) {}

std::optional<FetchLock> FetchLock::take(int folder, const std::string& name, int& error) {
  Descriptor own(openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  error = own ? 0 : errno;
  if (!own || !lock_file(own.get())) return std::nullopt;
  return FetchLock(std::move(own));
}

FetchLock::~FetchLock() = default;

bool FetchLock::is_of(const Descriptor& file) const {
  struct stat locked {};
  struct stat mapped {};
  return fstat(descriptor_.get(), &locked) == 0 && fstat(file.get(), &mapped) == 0 &&
         locked.st_dev == mapped.st_dev && locked.st_ino == mapped.st_ino;
}

}  // namespace leaf::host
