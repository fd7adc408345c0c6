#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace leafctl::serve {

/// Jobs that may wait, as for the store, and the threads that do them, one after the other in their order.
/// One that has not begun can be taken back. Thread safe.
class Jobs {
 public:
  using Job = std::function<void()>;
  /// Tells jobs apart; 0 is none.
  using Ticket = std::uint64_t;

  /// Starts a thread, and more when there is work for them, `most_threads` of them at most.
  explicit Jobs(std::size_t most_threads);
  /// Ends.
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  Ticket add(Job job);
  /// Has `job` done in the place of another one. False if that has begun.
  bool replace(Ticket ticket, Job job);
  /// True if it had not begun, and never will.
  bool take_back(Ticket ticket);
  /// Begins no more jobs, and waits for those that have begun.
  void end();

 private:
  void work();

  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ticket, Job> waiting_;
  Ticket last_ = 0;
  std::size_t idle_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace leafctl::serve
