#pragma once

#include <cstdint>
#include <string>

#include "leaf/clock.hpp"
#include "leaf/tag.hpp"
#include "range/refiller.hpp"
#include "segment/step_policy.hpp"

namespace leaf::segment {

/// One tag of an allocator: its buffer, refilled with segments of a dynamic step.
class TagBuffer final : public range::RefilledBuffer {
 public:
  TagBuffer(TagName tag, range::Refiller& its_refiller, StepPolicy policy, Clock& clock)
      : name(std::move(tag)), refiller(its_refiller), step_policy_(policy), clock_(clock) {}

  range::Refill refill(Store& store) override;
  std::string what() const override;

  const TagName name;
  range::Refiller& refiller;

 private:
  StepPolicy step_policy_;
  Clock& clock_;
};

}  // namespace leaf::segment
