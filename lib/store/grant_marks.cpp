#include "store/grant_marks.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace leaf {

namespace {

constexpr std::string_view tag_prefix = "tag ";

class MarksInMemory final : public GrantMarks {
 public:
  Mark mark(const std::string& deployment, const std::string& subject) override {
    const std::lock_guard lock(mutex_);
    return marks_[{deployment, subject}];
  }
  std::vector<std::string> subjects(const std::string& deployment) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [key, mark] : marks_) {
      if (key.first == deployment) found.push_back(key.second);
    }
    return found;
  }
  bool claim(const StoreIdentity& store, const std::string& subject, Range granted,
             MarkHolder holder) override {
    const std::lock_guard lock(mutex_);
    Mark& mark = marks_[{store.deployment, subject}];
    std::string& copy = copies_[{store.deployment, subject}];
    if (granted.lo < mark.end && copy != store.copy && (holder == 0 || mark.holder != holder)) {
      raise(mark, {granted.hi, 0});
      return false;
    }
    raise(mark, {granted.hi, holder});
    copy = store.copy;
    return true;
  }
  void raise(const std::string& deployment, const std::string& subject, std::int64_t end,
             MarkHolder holder) override {
    const std::lock_guard lock(mutex_);
    raise(marks_[{deployment, subject}], {end, holder});
  }
  MarkHolder settle(const std::string& deployment, const std::string& subject, MarkHolder first) override {
    const std::lock_guard lock(mutex_);
    Mark& mark = marks_[{deployment, subject}];
    if (mark.end == 0) mark = {.end = 1, .holder = first};
    return mark.holder;
  }
  void lower(const std::string& deployment, const std::string& subject, std::int64_t end,
             MarkHolder holder) override {
    const std::lock_guard lock(mutex_);
    Mark& mark = marks_[{deployment, subject}];
    if (mark.holder == holder) mark.end = std::min(mark.end, end);
  }

 private:
  /// The name is that of him who went furthest.
  static void raise(Mark& known, const Mark& mark) {
    if (known.end <= mark.end) known = mark;
  }

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Mark> marks_;
  std::map<std::pair<std::string, std::string>, std::string> copies_;  ///< that granted last
};

}  // namespace

/// FNV-1a: the same in each program of a host.
MarkHolder holder_of(std::string_view token) {
  MarkHolder holder = 0xcbf29ce484222325;
  for (const char c : token) holder = (holder ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return holder;
}

std::string mark_of(const TagName& tag) {
  return std::string(tag_prefix) + tag.str();
}

std::string mark_of(std::int64_t worker) {
  return "worker " + std::to_string(worker);
}

std::string mark_of_order(const std::string& owner) {
  return "order " + owner;
}

std::optional<TagName> tag_of_mark(const std::string& subject) {
  const std::string_view name = std::string_view(subject).substr(std::min(subject.size(), tag_prefix.size()));
  if (!subject.starts_with(tag_prefix) || !TagName::is_valid(name)) return std::nullopt;
  return TagName(name);
}

std::shared_ptr<GrantMarks> marks_in_memory() {
  return std::make_shared<MarksInMemory>();
}

}  // namespace leaf
