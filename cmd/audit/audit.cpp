#include "audit/audit.hpp"

#include <algorithm>

namespace leafctl {

Audit::Parts::Parts(const Options& options, const std::optional<leaf::Layout>& layout)
    : fields(layout ? std::optional<IdFields>(*layout) : std::nullopt),
      spread(fields),
      tally({.layout = layout, .examples = options.examples}, &workers),
      sorting(tally, options.sorting) {}

Audit::Audit(const Options& options) : options_(options) {
  if (options_.kind == Kind::guess) {
    sample_.reserve(guess_sample);
  } else {
    decide();
  }
}

void Audit::add(std::span<const std::int64_t> ids) {
  if (!parts_) {
    const std::size_t count = std::min(ids.size(), guess_sample - sample_.size());
    sample_.insert(sample_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    ids = ids.subspan(count);
    if (sample_.size() < guess_sample) return;
    decide();
  }
  look_at(ids);
}

void Audit::finish() {
  if (!parts_) decide();
  parts_->sorting.finish();
  parts_->tally.finish();
}

void Audit::decide() {
  if (options_.kind == Kind::guess) {
    guess_ = guess_layout(sample_, options_.layout, options_.now);
    if (guess_->is_known) {
      layout_ = guess_->candidates.front().layout;
      is_dense_ = !layout_;
    }
  } else {
    is_dense_ = options_.kind == Kind::dense;
    if (!is_dense_) layout_ = options_.layout;
  }
  parts_ = std::make_unique<Parts>(options_, layout_);
  look_at(sample_);
  sample_ = {};
}

void Audit::look_at(std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) {
    descents_ += id < last_ ? 1 : 0;
    last_ = id;
  }
  if (const auto& fields = parts_->fields) {
    for (const std::int64_t id : ids) {
      if (!fields->holds(id)) continue;
      parts_->workers.add(fields->worker_of(id), fields->tick_of(id), fields->sequence_of(id));
      parts_->spread.add(id);
    }
  } else {
    for (const std::int64_t id : ids) parts_->spread.add(id);
  }
  parts_->sorting.add(ids);
}

}  // namespace leafctl
