#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "leaf/clock.hpp"
#include "leaf/tag.hpp"
#include "range/refiller.hpp"
#include "segment/step_policy.hpp"
#include "segment/tag_source.hpp"

namespace leaf::segment {

/// One tag of an allocator in its own memory: its buffer, refilled with segments of a dynamic step.
class TagBuffer final : public range::RefilledBuffer, public TagSource {
 public:
  TagBuffer(const TagName& tag, range::Refiller& refiller, std::int64_t max_step, Clock& clock)
      : RefilledBuffer(clock), TagSource(tag), refiller_(refiller), step_policy_(max_step), clock_(clock) {}

  Range take(std::uint64_t at_most) override;
  void request_fetch() override { refiller_.request(*this); }
  std::int64_t limit() override { return limit_.load(std::memory_order_relaxed); }
  std::int64_t left() override;
  range::Refill refill(Store& store) override;
  std::string what() const override;

 private:
  range::Refiller& refiller_;
  StepPolicy step_policy_;
  Clock& clock_;
  std::atomic<std::int64_t> limit_{max_id};
  std::string incarnation_;  ///< as of the last grant
};

}  // namespace leaf::segment
