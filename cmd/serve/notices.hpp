#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace leafctl::serve {

/// What is said to whoever looks after the server, in a thread of its own: a reader that has stopped must not
/// stall what answers clients.
class Notices {
 public:
  using Say = std::function<void()>;

  Notices();
  /// Says what is left.
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  /// From any thread; never waits. What nobody reads is left out in the end.
  void add(Say say);

 private:
  void say_all();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Say> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace leafctl::serve
