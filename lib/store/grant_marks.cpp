#include "store/grant_marks.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace leaf {

namespace {

class MarksInMemory final : public GrantMarks {
 public:
  std::int64_t highest(const std::string& deployment, const std::string& subject) override {
    const std::lock_guard lock(mutex_);
    return marks_[{deployment, subject}];
  }
  void raise(const std::string& deployment, const std::string& subject, std::int64_t end) override {
    const std::lock_guard lock(mutex_);
    std::int64_t& mark = marks_[{deployment, subject}];
    mark = std::max(mark, end);
  }
  void lower(const std::string& deployment, const std::string& subject, std::int64_t end) override {
    const std::lock_guard lock(mutex_);
    std::int64_t& mark = marks_[{deployment, subject}];
    mark = std::min(mark, end);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::int64_t> marks_;
};

}  // namespace

std::string mark_of(const TagName& tag) {
  return "tag " + tag.str();
}

std::string mark_of(std::int64_t worker) {
  return "worker " + std::to_string(worker);
}

std::shared_ptr<GrantMarks> marks_in_memory() {
  return std::make_shared<MarksInMemory>();
}

}  // namespace leaf
