#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "range/range_source.hpp"

namespace leaf::range {

/// How long the name of a store that is in use may be relied on before the store is asked which one it is.
inline constexpr std::chrono::seconds name_lasts{30};

/// How long to wait before the next attempt, after that many failures in a row: 100 ms, doubled with each up
/// to 2 s, less a random quarter, so that hosts that failed together come back apart. What waiting alone does
/// not cure is looked at once a minute.
std::chrono::milliseconds pause_after(int failures, bool retryable);
/// The pause is never longer than this.
std::chrono::milliseconds longest_pause(bool retryable);

/// Fetches ranges for sources, for each at most once at a time, in background threads that start when there
/// is work for them. While a fetch fails it is tried again after a pause that grows, not with every call.
/// The sources have to outlive it. Thread safe.
class Fetcher {
 public:
  struct Options {
    std::chrono::milliseconds timeout;  ///< how long await() waits
    int max_threads = 1;  ///< that ask the store, each by a connection of its own; 0: it is asked for nothing
    /// Called from a background thread, never at the same time twice, when a fetch failed; may be empty.
    std::function<void(const RangeSource&, const Error&)> on_failure;
  };

  /// Loads the store's driver, if that can be: it may belong to another version by the first fetch.
  Fetcher(StoreOptions store, Options options);
  /// Ends the threads; a fetch under way ends first.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// From now on `source` is checked each second.
  void watch(RangeSource& source);

  /// Has the next range fetched, unless that is under way or it is there already.
  void request(RangeSource& source);

  /// For a caller that found the buffer empty: returns once `ready()` is true, having requested fetches until
  /// then. Throws the Error of a fetch that waiting does not cure, `unavailable` after the
  /// deadline of the call, which is the timeout from now on if it has none yet.
  void await(RangeSource& source, const std::function<bool()>& ready, CallDeadline& of_call);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;

  void enqueue(RangeSource& source, Time due, const Lock&);
  /// False if there is no thread to do it, and none could be started.
  bool fetch_now(RangeSource& source, const Lock& lock);
  /// By when they are due.
  using Schedule = std::set<std::pair<Time, RangeSource*>>;
  enum class Work { fetch, check, check_name };
  struct Task {
    RangeSource* source = nullptr;  ///< null: the fetcher ends
    Work work = Work::fetch;
    Schedule::node_type place{};  ///< of a fetch and a check, to go back to the schedule without memory
  };
  /// As many threads as there is work for. False if there is none, and none could be started.
  bool have_threads(const Lock&);
  Task next_due(Lock& lock);
  // In a thread of its own, where nobody catches what is thrown.
  void run() noexcept;
  void check(Task task, Lock& lock);
  void check_name(RangeSource& source, std::optional<Store>& store, Lock& lock);
  void fetch(Task task, std::optional<Store>& store, Lock& lock);
  /// As enqueue(), for a task that was due.
  void put_back(Task task, Time due, const Lock&);

  const StoreOptions store_options_;
  const Options options_;
  Clock& clock_;
  std::mutex report_mutex_;

  std::mutex mutex_;
  std::condition_variable work_;
  Schedule queue_;
  Schedule checks_;
  std::deque<RangeSource*> name_checks_;
  std::vector<std::thread> threads_;
  bool is_watching_ = false;
  int asking_ = 0;  ///< threads that wait for the store; one is left for checks, which need none
  bool stopping_ = false;
};

}  // namespace leaf::range
