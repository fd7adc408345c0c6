#include "host/fetch_lock.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "store/fork_generation.hpp"

namespace leaf::host {

namespace {

std::mutex mutex;
std::vector<int>& held = *new std::vector<int>;  // also for a fork() at the very end

/// NoFork of this thread. Who forks in a signal handler that interrupts it would wait for itself.
thread_local int no_forks = 0;

void before_fork() {
  if (no_forks == 0) mutex.lock();
}
void after_fork() {
  if (no_forks == 0) mutex.unlock();
}

/// A lock lasts until all have closed what one open() made. A child that outlives its parent would keep it.
void close_in_child() {
  if (no_forks > 0) return;  // it may be about to change them
  for (const int descriptor : held) close(descriptor);
  held.clear();
  mutex.unlock();
}

[[maybe_unused]] const int handled = pthread_atfork(&before_fork, &after_fork, &close_in_child);

bool set_lock(int descriptor, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

}  // namespace

bool lock_file(int descriptor) {
  return set_lock(descriptor, F_WRLCK);
}

void unlock_file(int descriptor) {
  set_lock(descriptor, F_UNLCK);
}

NoFork::Counted::Counted() {
  ++no_forks;
}
NoFork::Counted::~Counted() {
  --no_forks;
}
NoFork::NoFork() : lock_(mutex) {}

FetchLock::FetchLock(Descriptor descriptor)
    : descriptor_(std::move(descriptor)), holder_(store::fork_generation()) {
  held.push_back(descriptor_.get());
}

std::optional<FetchLock> FetchLock::take(int folder, const std::string& name, int& error) {
  const NoFork no_fork;
  Descriptor own(openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  error = own ? 0 : errno;
  if (!own || !lock_file(own.get())) return std::nullopt;
  return FetchLock(std::move(own));
}

FetchLock::~FetchLock() {
  if (!descriptor_) return;
  if (holder_ != store::fork_generation()) {
    descriptor_.release();  // closed at the fork
    return;
  }
  const NoFork no_fork;
  std::erase(held, descriptor_.get());
  unlock_file(descriptor_.get());  // also from a child that was made without handlers, as by clone()
  descriptor_ = Descriptor();
}

bool FetchLock::is_of(const Descriptor& file) const {
  struct stat locked {};
  struct stat mapped {};
  return fstat(descriptor_.get(), &locked) == 0 && fstat(file.get(), &mapped) == 0 &&
         locked.st_dev == mapped.st_dev && locked.st_ino == mapped.st_ino;
}

}  // namespace leaf::host
