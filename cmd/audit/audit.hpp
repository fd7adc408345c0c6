#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "audit/ascending_ids.hpp"
#include "audit/id_spread.hpp"
#include "audit/layout_guess.hpp"
#include "audit/tally.hpp"
#include "audit/worker_table.hpp"

namespace leafctl {

/// Looks at any number of IDs, in bounded memory.
class Audit {
 public:
  enum class Kind {
    guess,      ///< by the first IDs
    snowflake,  ///< of `layout`
    dense,      ///< numbers that are counted up
  };

  struct Options {
    Kind kind = Kind::guess;
    std::optional<leaf::Layout> layout{};  ///< for a guess: one beside those that are known
    leaf::UnixTime now{};
    std::size_t examples = 10;
    AscendingIds::Options sorting{};
  };

  explicit Audit(const Options& options);
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  /// The next IDs of the input, none of which is negative. Throws as AscendingIds::add() does.
  void add(std::span<const std::int64_t> ids);
  /// The last call before any of those below. Throws as AscendingIds::finish() does.
  void finish();

  /// What was guessed, if that was asked for and there were IDs.
  const std::optional<LayoutGuess>& guess() const noexcept { return guess_; }
  /// The layout that the IDs were read by; none if they are dense, or nothing fitting is known.
  const std::optional<leaf::Layout>& layout() const noexcept { return layout_; }
  bool is_dense() const noexcept { return is_dense_; }
  const Tally& tally() const noexcept { return parts_->tally; }
  const WorkerTable& workers() const noexcept { return parts_->workers; }
  const IdSpread& spread() const noexcept { return parts_->spread; }
  const AscendingIds& sorting() const noexcept { return parts_->sorting; }

  /// True if no ID was below the one before.
  bool was_ascending() const noexcept { return descents_ == 0; }
  std::uint64_t descents() const noexcept { return descents_; }

 private:
  struct Parts {
    Parts(const Options& options, const std::optional<leaf::Layout>& layout);

    std::optional<IdFields> fields;
    WorkerTable workers;
    IdSpread spread;
    Tally tally;
    AscendingIds sorting;
  };

  void decide();
  void look_at(std::span<const std::int64_t> ids);

  Options options_;
  std::vector<std::int64_t> sample_;  ///< what came before it was decided what the IDs are
  std::optional<LayoutGuess> guess_;
  std::optional<leaf::Layout> layout_;
  bool is_dense_ = false;
  std::unique_ptr<Parts> parts_;
  std::int64_t last_ = -1;
  std::uint64_t descents_ = 0;
};

}  // namespace leafctl
