#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "leaf/clock.hpp"
#include "leaf/layout.hpp"
#include "leaf/worker.hpp"
#include "range/refiller.hpp"

namespace leaf::snowflake {

/// The windows of a generator, as ranges of positions. A position is a unit of time and a sequence number in
/// it: ticks << bits of the sequence | sequence. The label of a range is its worker.
class WindowBuffer final : public range::RefilledBuffer {
 public:
  /// Leases the first window. Throws Error as Store::acquire_worker().
  WindowBuffer(Store& store, WorkerRequest request);

  /// Leases the window after the last one, with another worker if this one was recycled.
  range::Refill refill(Store& store) override;
  std::string what() const override { return "window of time"; }

  /// Gives back what was not used. Nothing may be taken any more.
  void give_up(Store& store);

  const Layout& layout() const noexcept { return layout_; }
  std::int64_t ticks_of(std::int64_t position) const noexcept { return position >> sequence_bits_; }
  std::int64_t sequence_of(std::int64_t position) const noexcept { return position & layout_.max_sequence(); }
  std::int64_t first_position(std::int64_t ticks) const noexcept { return ticks << sequence_bits_; }
  std::int64_t id_of(std::int64_t position, std::int64_t worker_bits) const noexcept {
    return layout_.compose(ticks_of(position), worker_bits, sequence_of(position));
  }

 private:
  range::Refill refill_of(WorkerLease& lease) const;

  WorkerRequest request_;
  Layout layout_;
  int sequence_bits_;
  WorkerLease lease_;
};

}  // namespace leaf::snowflake
