#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "host/descriptor.hpp"

namespace leaf::host {

/// The right to fetch, of one for the whole host. It belongs to this descriptor alone, no PID: the kernel
/// takes it back when the process dies. A child has no part in it.
class FetchLock {
 public:
  /// Of the file `name` in `folder`. None if another has it; or if the file cannot be opened, and then
  /// `error` says why, else 0.
  static std::optional<FetchLock> take(int folder, const std::string& name, int& error);
  ~FetchLock();
  FetchLock(FetchLock&&) = default;
  FetchLock& operator=(FetchLock&&) = delete;

  bool is_of(const Descriptor& file) const;

 private:
  explicit FetchLock(Descriptor descriptor);

  Descriptor descriptor_;
  unsigned holder_;  ///< the process, by its fork_generation()
};

/// False if another has locked the file.
bool lock_file(int descriptor);
/// Not by closing alone: a child that was forked meanwhile has the descriptor too.
void unlock_file(int descriptor);

/// While it is there this process does not fork: a child would share a lock that is taken meanwhile.
class NoFork {
 public:
  NoFork();

 private:
  struct Counted {  ///< before it is locked, and until it no longer is
    Counted();
    ~Counted();
  } counted_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace leaf::host
