#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "leaf/detail/double_buffer.hpp"
#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/host.hpp"
#include "leaf/range.hpp"
#include "leaf/store.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"

namespace leaf {

struct SegmentOptions {
  /// How long a call waits for IDs when both segments of its tag are used up. Zero: until one fetch has
  /// ended, its own or one under way, for a second at most; if that fetch failed, the call throws its Error.
  std::chrono::milliseconds timeout{5000};
  /// The dynamic step never grows beyond this, except up to `max_starved_step`.
  std::int64_t max_step = leaf::max_step;
  /// How far the step grows if segments are used up within a second, before the next one has come; up to
  /// max_segment. Absent: 2^26, or max_step if that is lower than leaf::max_step. A process that dies may
  /// lose as many IDs.
  std::optional<std::int64_t> max_starved_step{};
  /// How many connections, each with a thread of its own, fetch segments at once. They are opened when
  /// needed. With `host`, calls that wait for a segment fetch it themselves; the same number of connections
  /// is kept for them in addition.
  int max_connections = 2;
  /// Called from a background thread, never twice at the same time, when a fetch has failed and will be
  /// retried; may be empty. It must not call the allocator.
  std::function<void(const TagName&, const Error&)> on_fetch_failure{};
  /// Where the processes of this host share segments. Absent: they are this allocator's own.
  std::optional<HostOptions> host{};
};

class SegmentAllocator;
namespace range {
class RangeSource;
}

/// One tag of an allocator: where IDs are drawn. Copies draw from the same buffer. Any number of threads may
/// use one handle at once, though each draws faster from a copy of its own; it must not outlive its
/// allocator.
class LEAF_EXPORT SegmentTag {
 public:
  /// The next ID: greater than any whose call returned before this one began, in this allocator, from the
  /// same store(). Takes no lock and makes no system call while the buffer has IDs, except to ask for the
  /// next segment.
  ///
  /// Throws Error: `not_found` if the store has no such tag; `exhausted` past the tag's limit; `unavailable`
  /// if no segment came within the timeout; `refused`, `usage` and `failed` as Store::grant_segment().
  std::int64_t next() {
    std::int64_t id;
    bool mark_reached;
    if (!buffer_->load(std::memory_order_acquire)->take_one(guess_, id, mark_reached)) [[unlikely]]
      return next_closely();
    if (mark_reached) [[unlikely]]
      request_fetch();
    return id;
  }

  /// The next ID, if it is in memory. If false, call next(), which may wait. For threads that must not wait,
  /// such as an event loop's.
  bool try_next(std::int64_t& id) {
    bool mark_reached;
    if (!buffer_->load(std::memory_order_acquire)->take_one(guess_, id, mark_reached)) [[unlikely]]
      return try_next_closely(id);
    if (mark_reached) [[unlikely]]
      request_fetch();
    return true;
  }

  /// One run of 1 to `at_most` consecutive IDs (`at_most` >= 1), if there are any in memory; else empty: call
  /// next_range(), which may wait. For threads that must not wait.
  Range try_next_range(std::uint64_t at_most);

  /// Exactly `count` consecutive IDs (`count` >= 1), if a segment in memory has so many left; what is left of
  /// the one before is lost then. Else empty, and nothing is lost. For threads that must not wait.
  Range try_next_run(std::uint64_t count);

  /// One run of consecutive IDs, 1 to `at_most` of them (`at_most` >= 1), none drawn by anybody else. Throws
  /// as next().
  Range next_range(std::uint64_t at_most);

  /// Fills `ids` in increasing order, with IDs of one store; they need not be consecutive. Throws as next();
  /// what it had drawn before is lost.
  void next(std::span<std::int64_t> ids);

  /// `count` IDs in increasing order, in as few ranges as they were granted in; with host state, many are
  /// granted as one range. Throws as next(). With host state, a call that throws has drawn nothing, unless
  /// others draw while it waits; without, one for more than both segments in memory loses what it has drawn.
  std::vector<Range> next_ranges(std::uint64_t count);

  /// How many IDs are in memory. Others may draw them.
  std::uint64_t buffered() const noexcept;

  /// The last ID that the tag may give, as of the last fetch; max_id if it has none, or while the host knows
  /// of no fetch: before the first one, and after forget_store() until the next one.
  std::int64_t limit() const;

  /// How many IDs are left up to that limit: those buffered, and those that the store had left at the last
  /// fetch. Other hosts may have taken some since. As if none was ever given, while limit() knows of no
  /// fetch.
  std::int64_t left() const;

  /// Both, and whether few are left.
  TagSupply supply() const;

  /// The store that IDs are drawn from. If its deployment is not that of the last call, IDs come from another
  /// sequence and may equal earlier ones; if only its copy is not, they may be lower. Empty before the first
  /// ID.
  StoreIdentity store() const;
  /// Another number whenever IDs may have come to be another store's. Whoever draws one answer in several
  /// calls looks before the first and after the last of them: IDs of two stores may be equal.
  std::uint64_t store_changes() const noexcept;

  /// With HostOptions::fetch_ahead off: true if the next segment is due and no process of this host is
  /// fetching it.
  bool is_fetch_due();
  /// The same, but whoever gets true must call fetch() soon, perhaps in another process.
  bool claim_fetch();
  /// With HostOptions::fetch_ahead off: true if it is time to ask the store whether it is still the same one;
  /// making a new handle does that.
  bool is_check_due();
  /// Fetches the next segment, unless it is no longer needed. Throws Error as next().
  void fetch();

  /// Has to be assigned from SegmentAllocator::tag() before it is used.
  SegmentTag() = default;

 private:
  friend class SegmentAllocator;
  explicit SegmentTag(range::RangeSource* source);
  std::int64_t next_closely();
  bool try_next_closely(std::int64_t& id);
  void request_fetch();

  const std::atomic<range::DoubleBuffer*>* buffer_ = nullptr;
  range::RangeSource* source_ = nullptr;
  range::DoubleBuffer::Guess guess_;
};

/// Hands out the IDs of any number of tags from memory, and fetches each tag's next segment in the background
/// when a tenth of the current one is used, so that a short outage of the store goes unnoticed.
///
/// Thread safe. Do not use it in a child process after fork(), but make a new one there, unless its segments
/// are the host's and `fetch_ahead` is off. If another thread was in one of its calls at the fork, calls in
/// the child that the buffer cannot serve throw Error (failed). The destructor gives up segments of its own;
/// their IDs are never used.
///
/// With host state each tag that was opened keeps a file open for as long as the allocator lives, and the
/// allocator up to 64 more. A program of hundreds of tags raises its limit of open files (RLIMIT_NOFILE):
/// often that is 1,024.
class LEAF_EXPORT SegmentAllocator {
 public:
  /// Connects to nothing yet. Throws Error (usage) if the URL or an option is invalid.
  explicit SegmentAllocator(StoreOptions store, SegmentOptions options = {});
  /// Waits for the fetches under way, at most the store's timeout. No handle may be in use.
  ~SegmentAllocator();
  SegmentAllocator(const SegmentAllocator&) = delete;
  SegmentAllocator& operator=(const SegmentAllocator&) = delete;

  /// The handle of a tag; all handles of a tag share one buffer. Does not look the tag up; with host state,
  /// it asks the store for its identity if no process of this host has done so for a minute. Cheap, but takes
  /// a lock: keep the handle. With host state, throws Error: `refused` if its folder or file cannot be
  /// trusted, `usage` if the folder cannot be used, `failed` if there is no space.
  SegmentTag tag(const TagName& name);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leaf
