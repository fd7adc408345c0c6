#pragma once

#include <cstdint>

#include "leaf/layout.hpp"

namespace leafctl {

/// The time, worker and sequence number of many IDs of one layout: as the layout gives them, and without a
/// look at each of its fields where those of the worker lie beside each other, as they mostly do.
class IdFields {
 public:
  explicit IdFields(const leaf::Layout& layout)
      : layout_(layout), time_(*layout.field("time")), has_one_worker_field_(true) {
    if (const leaf::LayoutField* sequence = layout.field("sequence")) sequence_ = *sequence;
    for (const leaf::LayoutField& field : layout.fields()) {
      if (field.role() != leaf::LayoutField::Role::worker) continue;
      if (worker_mask_ != 0 && field.shift() + field.bits() != worker_shift_) has_one_worker_field_ = false;
      worker_shift_ = field.shift();
      worker_mask_ = worker_mask_ << field.bits() | field.max();
    }
  }

  const leaf::Layout& layout() const noexcept { return layout_; }
  bool holds(std::int64_t id) const noexcept { return layout_.holds(id); }
  std::int64_t tick_of(std::int64_t id) const noexcept { return time_.of(id); }
  std::int64_t worker_of(std::int64_t id) const noexcept {
    return has_one_worker_field_ ? id >> worker_shift_ & worker_mask_ : layout_.worker_of(id);
  }
  std::int64_t sequence_of(std::int64_t id) const noexcept { return sequence_.of(id); }

 private:
  leaf::Layout layout_;
  leaf::LayoutField time_;
  leaf::LayoutField sequence_;
  bool has_one_worker_field_;
  int worker_shift_ = 0;
  std::int64_t worker_mask_ = 0;
};

}  // namespace leafctl
