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
#include "leaf/store_identity.hpp"

namespace leaf::range {

/// What a grant puts into a buffer.
struct Refill {
  Range range;
  std::uint32_t mark = 1;  ///< how many of its IDs may be taken before the next refill is due
  std::uint32_t label = 0;
  StoreIdentity store{};  ///< the one that granted it
  /// What is left in the buffer comes from something else, such as a tag that was removed: it is given up.
  bool replaces_rest = false;
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
  /// Looks whether what is buffered may still be drawn, each second while it is watched. Called from one
  /// thread at a time, perhaps during a fetch. Errors are of no consequence.
  virtual void check(Store&) {}

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
  explicit RefilledBuffer(Clock& clock) : clock_(clock) {}

  /// Has `store` grant the next range. Called from one thread at a time. Throws Error.
  virtual Refill refill(Store& store) = 0;

  bool wants_fetch() override { return buffer.wants_next(); }
  bool is_used_up() override { return buffer.view().rest.empty(); }
  void fetch(Store& store) override;
  /// Gives up what is buffered if the store's name leads to another one now.
  void check(Store& store) override;

  DoubleBuffer buffer;

 protected:
  /// For what was granted before there was a refiller.
  void note_granted_by(const StoreIdentity& store);

 private:
  Clock& clock_;
  std::mutex store_mutex_;
  std::optional<StoreIdentity> granted_by_;  ///< what is buffered

  // Of check() alone.
  std::uint64_t checked_word_ = 0;
  std::chrono::steady_clock::time_point checked_at_{};
};

/// How long the name of a store that is in use may be relied on before the store is asked which one it is.
inline constexpr std::chrono::seconds name_lasts{60};

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

  /// From now on `buffer` is checked each second.
  void watch(Refillable& buffer);

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
  struct Task {
    Refillable* buffer = nullptr;  ///< null: the refiller ends
    bool is_check = false;
  };
  /// False if there is no thread, and none could be started.
  bool have_thread(bool all_busy);
  Task next_due(Lock& lock);
  void check(Refillable& buffer, Store& store, Lock& lock);
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
  std::set<std::pair<Time, Refillable*>> checks_;
  std::vector<std::thread> threads_;
  int idle_threads_ = 0;
  bool stopping_ = false;
};

}  // namespace leaf::range
