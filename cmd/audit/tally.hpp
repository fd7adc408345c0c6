#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/ascending_ids.hpp"
#include "audit/id_fields.hpp"
#include "audit/rate_series.hpp"
#include "audit/worker_table.hpp"

namespace leafctl {

/// An ID that is there more than once.
struct Repeat {
  std::int64_t id;
  std::uint64_t times;
};

/// IDs between the least and the greatest one that are missing.
struct Gap {
  std::int64_t first;
  std::uint64_t size;
};

/// The most IDs that one stretch of time has.
struct Peak {
  std::uint64_t count = 0;
  std::int64_t tick = 0;  ///< when it begins
};

/// What can be told of IDs in ascending order, one after the other.
class Tally : public AscendingSink {
 public:
  struct Options {
    std::optional<leaf::Layout> layout{};  ///< absent: IDs are numbers, and no more
    std::size_t examples = 10;             ///< of repeats and gaps
  };

  /// `workers` is borrowed, and gets the repeats of each worker; null: nobody does.
  Tally(const Options& options, WorkerTable* workers);

  void take(std::span<const std::int64_t> ids) override;
  void start_over() override;
  /// After the last ID.
  void finish();

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t distinct() const noexcept { return distinct_; }
  /// IDs that are there more than once, and how many are too many of them in all.
  std::uint64_t repeated() const noexcept { return repeated_; }
  std::uint64_t repeats() const noexcept { return count_ - distinct_; }
  /// The least ones.
  const std::vector<Repeat>& examples() const noexcept { return examples_; }
  std::int64_t least() const noexcept { return least_; }
  std::int64_t greatest() const noexcept { return last_; }

  std::uint64_t gaps() const noexcept { return gaps_; }
  std::uint64_t missing() const noexcept {
    return count_ == 0
               ? 0
               : static_cast<std::uint64_t>(last_) - static_cast<std::uint64_t>(least_) + 1 - distinct_;
  }
  /// The largest ones, the largest first.
  const std::vector<Gap>& largest_gaps() const noexcept { return largest_gaps_; }

  /// IDs that the layout does not hold.
  std::uint64_t outside() const noexcept { return outside_; }
  const RateSeries& series() const noexcept { return series_; }
  /// The most in a unit of time and in a second, both only of a layout whose IDs are in order of time; the
  /// second only of one whose unit is no longer.
  const Peak& unit_peak() const noexcept { return unit_peak_; }
  const Peak& second_peak() const noexcept { return second_peak_; }

 private:
  void note_repeat(std::int64_t id);
  void note_gap(std::int64_t first, std::uint64_t size);
  void note_time(std::int64_t id);
  void turn_to(std::int64_t tick);

  std::optional<IdFields> fields_;
  std::size_t most_examples_;
  WorkerTable* workers_;

  std::uint64_t count_ = 0;
  std::uint64_t distinct_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t times_ = 0;  ///< that last_ was there
  std::vector<Repeat> examples_;
  std::int64_t least_ = 0;
  std::int64_t last_ = -1;

  std::uint64_t gaps_ = 0;
  std::vector<Gap> largest_gaps_;

  std::uint64_t outside_ = 0;
  RateSeries series_;
  std::int64_t tick_ = -1;
  std::uint64_t in_tick_ = 0;
  Peak unit_peak_;
  Peak second_;                  ///< the one under way
  std::int64_t second_end_ = 0;  ///< in ticks
  Peak second_peak_;
};

}  // namespace leafctl
