#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/grant_marks.hpp"

namespace leaf::test {

/// Has another process granted something between a grant and the look at the marks that follows it.
class MarksWithInterloper final : public leaf::GrantMarks {
 public:
  MarksWithInterloper(std::shared_ptr<leaf::GrantMarks> marks, std::function<void()> interlope)
      : marks_(std::move(marks)), interlope_(std::move(interlope)) {}

  Mark mark(const std::string& deployment, const std::string& subject) override {
    return marks_->mark(deployment, subject);
  }
  std::vector<std::string> subjects(const std::string& deployment) override {
    return marks_->subjects(deployment);
  }
  bool claim(const leaf::StoreIdentity& store, const std::string& subject, leaf::Range granted,
             leaf::MarkHolder holder) override {
    if (interlope_) std::exchange(interlope_, nullptr)();
    return marks_->claim(store, subject, granted, holder);
  }
  void raise(const std::string& deployment, const std::string& subject, std::int64_t end,
             leaf::MarkHolder holder) override {
    marks_->raise(deployment, subject, end, holder);
  }
  void lower(const std::string& deployment, const std::string& subject, std::int64_t end,
             leaf::MarkHolder holder) override {
    marks_->lower(deployment, subject, end, holder);
  }

 private:
  std::shared_ptr<leaf::GrantMarks> marks_;
  std::function<void()> interlope_;
};

}  // namespace leaf::test
