#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/grant_marks.hpp"

namespace leaf::test {

/// Has another process granted something between a grant and the look at the marks that follows it, or
/// between the first look and what is asked of the store then, or before the layout is settled.
class MarksWithInterloper final : public leaf::GrantMarks {
 public:
  MarksWithInterloper(std::shared_ptr<leaf::GrantMarks> marks, std::function<void()> before_the_claim,
                      std::function<void()> after_the_look = nullptr,
                      std::function<void()> before_the_layout = nullptr)
      : marks_(std::move(marks)),
        before_the_claim_(std::move(before_the_claim)),
        after_the_look_(std::move(after_the_look)),
        before_the_layout_(std::move(before_the_layout)) {}

  Mark mark(const std::string& deployment, const std::string& subject) override {
    const Mark seen = marks_->mark(deployment, subject);
    if (after_the_look_) std::exchange(after_the_look_, nullptr)();
    return seen;
  }
  std::vector<std::string> subjects(const std::string& deployment) override {
    return marks_->subjects(deployment);
  }
  bool claim(const leaf::StoreIdentity& store, const std::string& subject, leaf::Range granted,
             leaf::MarkHolder holder) override {
    if (before_the_claim_) std::exchange(before_the_claim_, nullptr)();
    return marks_->claim(store, subject, granted, holder);
  }
  void raise(const std::string& deployment, const std::string& subject, std::int64_t end,
             leaf::MarkHolder holder) override {
    marks_->raise(deployment, subject, end, holder);
  }
  leaf::MarkHolder settle(const std::string& deployment, const std::string& subject,
                          leaf::MarkHolder first) override {
    if (before_the_layout_) std::exchange(before_the_layout_, nullptr)();
    return marks_->settle(deployment, subject, first);
  }
  void lower(const std::string& deployment, const std::string& subject, std::int64_t end,
             leaf::MarkHolder holder) override {
    marks_->lower(deployment, subject, end, holder);
  }

 private:
  std::shared_ptr<leaf::GrantMarks> marks_;
  std::function<void()> before_the_claim_;
  std::function<void()> after_the_look_;
  std::function<void()> before_the_layout_;
};

}  // namespace leaf::test
