#include "audit/tally.hpp"

#include <algorithm>
#include <chrono>

namespace leafctl {

namespace {

using std::chrono::seconds;

/// The first tick of the second behind the one that `tick` is in.
std::int64_t end_of_second(const leaf::Layout& layout, std::int64_t tick) {
  const auto end = std::chrono::floor<seconds>(layout.time_at(tick)) + seconds(1);
  const auto since = end - layout.epoch();
  return since / layout.unit() + (since % layout.unit() == since.zero() ? 0 : 1);
}

bool is_larger(const Gap& left, const Gap& right) {
  return left.size != right.size ? left.size > right.size : left.first < right.first;
}

}  // namespace

Tally::Tally(const Options& options, WorkerTable* workers)
    : most_examples_(options.examples), workers_(workers) {
  if (options.layout) fields_.emplace(*options.layout);
}

void Tally::take(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  if (count_ == 0) {
    least_ = ids.front();
    last_ = least_ - 1;
  }
  count_ += ids.size();
  for (const std::int64_t id : ids) {
    const auto distance = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(last_);
    if (distance == 0) {
      note_repeat(id);
    } else {
      times_ = 1;
      ++distinct_;
      if (distance > 1) note_gap(last_ + 1, distance - 1);
    }
    last_ = id;
    if (fields_) note_time(id);
  }
}

void Tally::start_over() {
  const Options options{.layout = fields_ ? std::optional(fields_->layout()) : std::nullopt,
                        .examples = most_examples_};
  if (workers_ != nullptr) workers_->forget_repeats();
  *this = Tally(options, workers_);
}

void Tally::finish() {
  turn_to(-1);
  if (second_.count > second_peak_.count) second_peak_ = second_;
  std::ranges::sort(largest_gaps_, is_larger);
}

void Tally::note_repeat(std::int64_t id) {
  if (++times_ == 2) {
    ++repeated_;
    if (examples_.size() < most_examples_) examples_.push_back({id, 1});
  }
  if (!examples_.empty() && examples_.back().id == id) examples_.back().times = times_;
  if (fields_ && workers_ != nullptr && fields_->holds(id)) workers_->add_repeat(fields_->worker_of(id));
}

void Tally::note_gap(std::int64_t first, std::uint64_t size) {
  ++gaps_;
  if (most_examples_ == 0) return;
  const Gap gap{first, size};
  // A heap whose first one is the least.
  if (largest_gaps_.size() == most_examples_) {
    if (!is_larger(gap, largest_gaps_.front())) return;
    std::ranges::pop_heap(largest_gaps_, is_larger);
    largest_gaps_.pop_back();
  }
  largest_gaps_.push_back(gap);
  std::ranges::push_heap(largest_gaps_, is_larger);
}

void Tally::note_time(std::int64_t id) {
  if (!fields_->holds(id)) {
    ++outside_;
    return;
  }
  const std::int64_t tick = fields_->tick_of(id);
  if (tick != tick_) turn_to(tick);
  ++in_tick_;
}

void Tally::turn_to(std::int64_t tick) {
  if (in_tick_ != 0) {
    series_.add(tick_, in_tick_);
    const leaf::Layout& layout = fields_->layout();
    if (layout.ordered_by_time()) {
      if (in_tick_ > unit_peak_.count) unit_peak_ = {in_tick_, tick_};
      if (layout.unit() <= seconds(1)) {
        if (tick_ >= second_end_) {
          if (second_.count > second_peak_.count) second_peak_ = second_;
          second_ = {0, tick_};
          second_end_ = end_of_second(layout, tick_);
        }
        second_.count += in_tick_;
      }
    }
  }
  tick_ = tick;
  in_tick_ = 0;
}

}  // namespace leafctl
