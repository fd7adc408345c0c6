#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/detail/double_buffer.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"

namespace leaf::range {

/// What a grant puts into a buffer.
struct Refill {
  Range range;
  std::uint32_t mark = 1;  ///< how many of its IDs may be taken before the next refill is due
  std::uint32_t label = 0;
};

/// A buffer that a Refiller keeps filled. `buffer` is for all threads.
class RefilledBuffer {
 public:
  virtual ~RefilledBuffer() = default;

  /// Has `store` grant the next range. Called from one thread at a time. Throws Error.
  virtual Refill refill(Store& store) = 0;
  /// What is waited for, for messages: "segment of tag 'order'".
  virtual std::string what() const = 0;

  DoubleBuffer buffer;

 private:
  friend class Refiller;
  std::atomic<bool> requested_{false};

  // Guarded by the refiller's mutex.
  bool queued_ = false;
  std::chrono::steady_clock::time_point due_;  ///< when queued: not to be refilled before
  std::uint64_t refills_begun_ = 0;
  int failures_in_a_row_ = 0;
  std::optional<Error> failure_;     ///< of the last refill, if it failed
  std::condition_variable changed_;  ///< a refill has ended
};

/// Refills buffers, each at most once at a time, in background threads that start when there is work for
/// them. While a refill fails it is tried again after a pause that grows, not with every call. Thread safe.
class Refiller {
 public:
  struct Options {
    std::chrono::milliseconds timeout;  ///< how long await() waits
    int max_threads = 1;                ///< each with a connection of its own
    /// Called from a background thread, never at the same time twice, when a refill failed; may be empty.
    std::function<void(const RefilledBuffer&, const Error&)> on_failure;
  };

  Refiller(StoreOptions store, Options options);
  /// Ends the threads; a refill under way ends first.
  ~Refiller();
  Refiller(const Refiller&) = delete;
  Refiller& operator=(const Refiller&) = delete;

  /// Has the next range fetched, unless that is under way or it is there already.
  void request(RefilledBuffer& buffer);

  /// For a caller that found the buffer empty: returns once `ready()` is true, having requested refills until
  /// then. Throws the Error of a refill that waiting does not cure, `unavailable` after the timeout.
  void await(RefilledBuffer& buffer, const std::function<bool()>& ready);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;

  void enqueue(RefilledBuffer& buffer, Time due, const Lock&);
  /// False if there is no thread to do it, and none could be started.
  bool refill_now(RefilledBuffer& buffer, const Lock& lock);
  RefilledBuffer* next_due(Lock& lock);
  void run();
  void refill(RefilledBuffer& buffer, Store& store, Lock& lock);
  Error timed_out(const RefilledBuffer& buffer) const;

  const StoreOptions store_options_;
  const Options options_;
  Clock& clock_;
  std::mutex report_mutex_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::set<std::pair<Time, RefilledBuffer*>> queue_;
  std::vector<std::thread> threads_;
  int idle_threads_ = 0;
  bool stopping_ = false;
};

}  // namespace leaf::range
