#include "serve/unsent_answers.hpp"

namespace leafctl::serve {

void UnsentAnswers::add(std::string_view answers, std::span<const std::uint32_t> ends, std::size_t sent,
                        Time now) {
  if (empty()) {
    *this = {};
    begun_ = now;
  }
  const std::size_t begin = text_.size();
  text_ += answers.substr(sent);
  for (const std::uint32_t end : ends) {
    if (end > sent) ends_.push_back(static_cast<std::uint32_t>(begin + end - sent));
  }
  // What follows an answer belongs to the next one.
  if (ends.empty()) ends_.push_back(static_cast<std::uint32_t>(text_.size()));
}

void UnsentAnswers::take(std::size_t count, Time now) {
  sent_ += count;
  while (next_ < ends_.size() && ends_[next_] <= sent_) {
    ++next_;
    begun_ = now;
  }
  if (empty()) *this = {};
}

}  // namespace leafctl::serve
