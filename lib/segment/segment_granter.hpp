#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leaf/clock.hpp"
#include "leaf/tag.hpp"
#include "range/granter.hpp"
#include "segment/step_policy.hpp"
#include "store/grant_marks.hpp"

namespace leaf::segment {

/// The segments of one tag, of a dynamic step.
class SegmentGranter final : public range::Granter {
 public:
  /// `store` is the one that will be asked; only its marks and its clock are used.
  SegmentGranter(const TagName& tag, const StepBounds& bounds, const StoreOptions& store)
      : tag_(tag), bounds_(bounds), marks_(store.marks), clock_(*store.clock) {}

  std::string name() const override { return tag_.str(); }
  std::string what() const override;
  /// Throws Error as Store::grant_segment().
  range::Granted grant(Store& store, const range::Filled& filled) const override;
  bool is_newest(Store& store, const range::Granted& granted) const override;

 private:
  const TagName tag_;
  const StepBounds bounds_;
  const std::shared_ptr<GrantMarks> marks_;
  Clock& clock_;
};

}  // namespace leaf::segment
