#pragma once

#include <cstdint>

#include "leaf/layout.hpp"
#include "leaf/worker.hpp"
#include "range/refiller.hpp"

namespace leaf::snowflake {

/// How windows of time lie in a buffer. A position is a unit of time and a sequence number in it:
/// ticks << bits of the sequence | sequence. The label of a range is its worker.
class Positions {
 public:
  explicit Positions(const Layout& layout);

  const Layout& layout() const noexcept { return layout_; }
  std::int64_t ticks_of(std::int64_t position) const noexcept { return position >> sequence_bits_; }
  std::int64_t sequence_of(std::int64_t position) const noexcept { return position & layout_.max_sequence(); }
  std::int64_t first_of(std::int64_t ticks) const noexcept { return ticks << sequence_bits_; }
  std::int64_t id_of(std::int64_t position, std::int64_t worker_bits) const noexcept {
    return layout_.compose(ticks_of(position), worker_bits, sequence_of(position));
  }

  /// Cuts `lease` to what fits in a buffer; the rest is leased again as part of the next window. Throws Error
  /// (exhausted) outside of the layout's time.
  range::Refill refill_of(WorkerLease& lease) const;

 private:
  Layout layout_;
  int sequence_bits_;
};

/// `request` with a window of two units at least: a shorter one might hold no unit as a whole.
WorkerRequest valid_request(WorkerRequest request, const Layout& layout);

/// The lease that follows `lease`, with another worker if that was recycled. Throws Error as the store does.
WorkerLease next_lease(Store& store, const WorkerLease& lease, const WorkerRequest& request);

}  // namespace leaf::snowflake
