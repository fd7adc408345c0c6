#pragma once

#include <cstdint>

#include "leaf/layout.hpp"

namespace leaf::layout {

/// How time lies in a buffer. A position is a unit of time and a sequence number in it:
/// ticks << bits of the sequence | sequence.
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

 private:
  Layout layout_;
  int sequence_bits_;
};

}  // namespace leaf::layout
