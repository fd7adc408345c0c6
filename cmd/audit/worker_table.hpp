#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace leafctl {

/// What was seen of a worker, in the order of the input. Times are in the layout's units.
struct WorkerUse {
  std::int64_t worker = 0;
  std::uint64_t count = 0;
  std::int64_t first_tick = 0;      ///< the least
  std::int64_t last_tick = 0;       ///< the greatest
  std::uint64_t steps_back = 0;     ///< IDs whose time is before that of the one before
  std::int64_t longest_step = 0;    ///< of those
  std::uint64_t sequence_back = 0;  ///< IDs of one unit whose sequence number is not above the one before
  std::uint64_t repeats = 0;        ///< IDs that were there before, wherever in the input
  std::int64_t tick = 0;            ///< of the ID that came last
  std::int64_t sequence = 0;        ///< of that

  /// True if the worker had two users, as far as its own IDs tell.
  bool is_suspect() const noexcept { return repeats != 0 || sequence_back != 0; }
};

/// All workers that were seen. Up to a limit, behind which the rest are only counted.
class WorkerTable {
 public:
  static constexpr std::size_t most_workers = std::size_t{1} << 17;

  WorkerTable();

  /// An ID as it came.
  void add(std::int64_t worker, std::int64_t tick, std::int64_t sequence) {
    WorkerUse* use =
        last_ < workers_.size() && workers_[last_].worker == worker ? &workers_[last_] : find(worker, tick);
    if (use == nullptr) {
      ++beyond_;
      return;
    }
    if (tick > use->tick) [[likely]] {
      if (tick > use->last_tick) use->last_tick = tick;
    } else if (use->count != 0) {
      note_disorder(*use, tick, sequence);
    }
    ++use->count;
    use->tick = tick;
    use->sequence = sequence;
  }

  /// An ID of that worker is a repeat.
  void add_repeat(std::int64_t worker);
  void forget_repeats();

  const std::vector<WorkerUse>& workers() const noexcept { return workers_; }
  /// IDs of workers behind the limit.
  std::uint64_t beyond() const noexcept { return beyond_; }

 private:
  WorkerUse* find(std::int64_t worker, std::int64_t tick);
  static void note_disorder(WorkerUse& use, std::int64_t tick, std::int64_t sequence);
  std::size_t slot_of(std::int64_t worker) const;
  void grow();

  std::vector<WorkerUse> workers_;
  std::vector<std::uint32_t> slots_;  ///< an index into workers_ plus one, or 0; a power of two of them
  std::size_t last_ = 0;              ///< whose ID came last
  std::uint64_t beyond_ = 0;
};

}  // namespace leafctl
