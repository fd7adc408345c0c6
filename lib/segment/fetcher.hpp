#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/segment.hpp"
#include "segment/tag_state.hpp"

namespace leaf::segment {

/// Fetches the segments of an allocator's tags, each tag's one at a time, in background threads that start
/// when there is work for them. While a fetch fails it is tried again after a pause that grows, not with
/// every call. Thread safe.
class Fetcher {
 public:
  Fetcher(StoreOptions store, SegmentOptions options);
  /// Ends the threads; a fetch under way ends first.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// Has the tag's next segment fetched, unless that is under way already.
  void request(TagState& tag);

  /// For a caller that found the buffer empty: waits for a segment and takes 1 to `at_most` IDs of it.
  /// Throws what SegmentTag::next() documents.
  Range wait_and_take(TagState& tag, std::uint64_t at_most);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;

  void enqueue(TagState& tag, Time due, const Lock&);
  TagState* next_due(Lock& lock);
  void run();
  void fetch(TagState& tag, Store& store, Lock& lock);
  void report(const TagState& tag, const Error& error);

  const StoreOptions store_options_;
  const SegmentOptions options_;
  Clock& clock_;
  std::mutex report_mutex_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::set<std::pair<Time, TagState*>> queue_;
  std::vector<std::thread> threads_;
  int idle_threads_ = 0;
  bool stopping_ = false;
};

}  // namespace leaf::segment
