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

/// Something that a Refiller keeps filled.
class Refillable {
 public:
  virtual ~Refillable() = default;

  /// True if a fetched range can be put in place: there is no next one yet. For all threads.
  virtual bool wants_fetch() = 0;
  /// Has `store` grant the next range and puts it in place. Called from one thread at a time. Throws Error.
  virtual void fetch(Store& store) = 0;
  /// True if there is nothing to bridge the time to the next attempt with. For all threads.
  virtual bool is_used_up() = 0;
  /// What is waited for, for messages: "segment of tag 'order'".
  virtual std::string what() const = 0;

 private:
  friend class Refiller;
  std::atomic<bool> requested_{false};

  // Guarded by the refiller's mutex.
  bool queued_ = false;
  std::chrono::steady_clock::time_point due_;  ///< when queued: not to be refilled before
  std::uint64_t fetches_begun_ = 0;
  int failures_in_a_row_ = 0;
  std::optional<Error> failure_;     ///< of the last fetch, if it failed
  std::condition_variable changed_;  ///< a fetch has ended
};

/// A buffer in this process's own memory. `buffer` is for all threads.
class RefilledBuffer : public Refillable {
 public:
  /// Has `store` grant the next range. Called from one thread at a time. Throws Error.
  virtual Refill refill(Store& store) = 0;

  bool wants_fetch() override { return buffer.wants_next(); }
  bool is_used_up() override { return buffer.view().rest.empty(); }
  void fetch(Store& store) override {
    const Refill next = refill(store);
    if (!buffer.wants_next()) buffer.retire();  // await() found that neither range will do
    buffer.publish(next.range, next.mark, next.label);
  }

  DoubleBuffer buffer;
};

/// How long to wait before the next attempt, after that many failures in a row: 100 ms, doubled with each up
/// to 2 s, less a random quarter, so that hosts that failed together come back apart. What waiting alone does
/// not cure is looked at once a minute.
std::chrono::milliseconds pause_after(int failures, bool retryable);

/// Refills buffers, each at most once at a time, in background threads that start when there is work for
/// them. While a refill fails it is tried again after a pause that grows, not with every call. Thread safe.
class Refiller {
 public:
  struct Options {
    std::chrono::milliseconds timeout;  ///< how long await() waits
    int max_threads = 1;                ///< each with a connection of its own
    /// Called from a background thread, never at the same time twice, when a refill failed; may be empty.
    std::function<void(const Refillable&, const Error&)> on_failure;
  };

  Refiller(StoreOptions store, Options options);
  /// Ends the threads; a refill under way ends first.
  ~Refiller();
  Refiller(const Refiller&) = delete;
  Refiller& operator=(const Refiller&) = delete;

  /// Has the next range fetched, unless that is under way or it is there already.
  void request(Refillable& buffer);

  /// For a caller that found the buffer empty: returns once `ready()` is true, having requested refills until
  /// then. Throws the Error of a refill that waiting does not cure, `unavailable` after the timeout.
  void await(Refillable& buffer, const std::function<bool()>& ready);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;

  void enqueue(Refillable& buffer, Time due, const Lock&);
  /// False if there is no thread to do it, and none could be started.
  bool fetch_now(Refillable& buffer, const Lock& lock);
  Refillable* next_due(Lock& lock);
  void run();
  void fetch(Refillable& buffer, Store& store, Lock& lock);
  Error timed_out(const Refillable& buffer) const;

  const StoreOptions store_options_;
  const Options options_;
  Clock& clock_;
  std::mutex report_mutex_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::set<std::pair<Time, Refillable*>> queue_;
  std::vector<std::thread> threads_;
  int idle_threads_ = 0;
  bool stopping_ = false;
};

}  // namespace leaf::range
