#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/block_store.hpp"
#include "audit/id_bitmap.hpp"
#include "audit/id_run.hpp"
#include "leaf/error.hpp"

namespace leafctl {

/// Who looks at IDs in ascending order.
class AscendingSink {
 public:
  virtual ~AscendingSink() = default;

  /// `ids` ascend, from those of the call before on; equal ones are repeats.
  virtual void take(std::span<const std::int64_t> ids) = 0;
  /// Forget what was taken: all comes again.
  virtual void start_over() = 0;
};

/// Puts any number of IDs in ascending order, with all their repeats, in bounded memory.
///
/// What comes is sorted piece by piece. As long as each piece continues the one before, as it does where the
/// input is in order or nearly so, the sink gets it at once. What it got has to be kept nonetheless, as a run
/// of a byte or two for each ID, for the case that a lower one follows: then all runs are merged at the end.
/// IDs that lie near to each other but in no order go into a bitmap instead.
class AscendingIds {
 public:
  struct Options {
    std::size_t memory = std::size_t{512} << 20;  ///< in bytes
    std::string folder = "/tmp";                  ///< of the temporary file
  };

  /// Less is taken for this.
  static constexpr std::size_t least_memory = std::size_t{64} << 10;
  /// From here on what is kept of each block in the file is nothing beside the block.
  static constexpr std::size_t enough_memory = std::size_t{4} << 20;

  /// `sink` is borrowed.
  AscendingIds(AscendingSink& sink, const Options& options);

  /// IDs that are not negative, in any order. Throws leaf::Error (failed) if there is no room for temporary
  /// files, and they are needed.
  void add(std::span<const std::int64_t> ids);

  /// The last call: now the sink has got everything. Throws as add() does.
  void finish();

  /// True if nothing that came later had to be put before what the sink had got.
  bool was_in_order() const noexcept { return is_in_order_; }
  /// How much of the temporary file was used.
  std::uint64_t file_size() const noexcept { return store_.file_size(); }

 private:
  void flush(bool is_last);
  void pass_on(std::span<const std::int64_t> ids, bool is_last);
  void keep(std::span<const std::int64_t> ids);
  void append_to_run(std::span<const std::int64_t> ids);
  void choose_bitmap(std::span<const std::int64_t> ids);
  std::span<const std::int64_t> pour_into_bitmap(std::span<std::int64_t> ids);
  void add_run(IdRun run, std::size_t level);
  void merge_all();

  AscendingSink& sink_;
  std::size_t memory_;
  std::size_t block_size_;
  std::size_t most_runs_;  ///< that are merged at once
  BlockStore store_;

  std::size_t most_ids_;  ///< that are sorted at once
  std::vector<std::int64_t> buffer_;
  std::vector<std::int64_t> scratch_;
  std::size_t filled_ = 0;

  bool is_in_order_ = true;
  std::int64_t last_ = -1;  ///< the greatest ID that was passed on
  std::optional<IdRunWriter> run_;
  std::vector<std::vector<IdRun>> levels_;  ///< runs that were merged once are in the second one, and so on
  bool has_looked_for_bitmap_ = false;
  std::unique_ptr<IdBitmap> bitmap_;
  std::optional<leaf::Error> not_kept_;  ///< why what the sink has got is not kept
};

}  // namespace leafctl
