#include "serve/drawing.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace leafctl::serve {

namespace {

/// As many snowflake IDs are made at once.
constexpr std::size_t batch = 512;

/// Whatever is asked for fails, and not how much.
bool is_of_store(const leaf::Error& error) {
  return error.retryable() || error.code() == leaf::ErrorCode::usage;
}

std::uint64_t store_changes_of(const leaf::SegmentTag& tag, const leaf::SnowflakeGenerator* generator) {
  return generator != nullptr ? generator->store_changes() : tag.store_changes();
}

}  // namespace

/// Whether a draw may be served from memory although others wait: a thread is at the first of them, which
/// asks for more than memory has.
bool Drawing::may_go_first(const Source& source) {
  if (source.waiting.empty()) return true;
  return source.generator == nullptr && source.job != 0 &&
         source.waiting.front()->count > source.ids.buffered();
}

bool Drawing::try_next(std::string_view tag, std::int64_t& id) {
  const auto found = sources_.find(tag);
  if (found == sources_.end()) return false;
  Source& source = *found->second;
  if (!source.is_open || !may_go_first(source)) return false;
  if (source.generator == nullptr) return source.ids.try_next(id);
  try {
    return source.generator->try_next({&id, 1}) == 1;
  } catch (const leaf::Error&) {
    return false;  // begin() meets it again
  }
}

/// True if it has ended. Those who came before are served first.
bool Drawing::take(Source& source, Draw& draw) {
  if (!source.is_open) return false;
  if (draw.count == Draw::one_step) draw.count = static_cast<std::uint64_t>(source.step);
  if (draw.ranges.empty()) draw.store_changes = store_changes_of(source.ids, source.generator);
  try {
    return take_from_memory(source, draw);
  } catch (const leaf::Error& error) {
    draw.error = error;
    return true;
  }
}

bool Drawing::take_from_memory(Source& source, Draw& draw) {
  if (source.generator != nullptr) {
    std::array<std::int64_t, batch> ids{};
    for (std::uint64_t drawn = count_of(draw.ranges); drawn < draw.count;) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(batch, draw.count - drawn));
      const std::size_t made = source.generator->try_next(std::span(ids).first(wanted));
      if (made == 0) return false;
      append_ids(draw.ranges, std::span(ids).first(made));
      drawn += made;
    }
    return is_of_one_store(source, draw);
  }
  if (draw.shape == Shape::consecutive) {
    const leaf::Range run = source.ids.try_next_run(draw.count);
    if (!run.empty()) draw.ranges.assign({run});
    return !run.empty();
  }
  // What is taken for a draw that fails would be lost: so it is all or nothing.
  if (source.ids.buffered() < draw.count) return false;
  IdRanges ranges;
  int takes = 0;
  for (std::uint64_t drawn = 0; drawn < draw.count; ++takes) {
    const leaf::Range range = source.ids.try_next_range(draw.count - drawn);
    if (range.empty()) return false;  // others were faster
    append_range(ranges, range);
    drawn += range.size();
  }
  draw.ranges = std::move(ranges);
  return takes == 1 || is_of_one_store(source, draw);
}

/// IDs of two stores, as where the store was put back or its name led to another one meanwhile, would be no
/// answer: then they are lost.
bool Drawing::is_of_one_store(Source& source, Draw& draw) {
  const std::uint64_t now = store_changes_of(source.ids, source.generator);
  if (now == draw.store_changes || draw.count == 1) return true;
  draw.store_changes = now;
  draw.ranges.clear();
  return false;
}

/// Those from the one at `from` on that memory has IDs for. One that asks for more than there are keeps
/// nobody behind it from theirs.
void Drawing::take_waiting(Source& source, std::size_t from, Draws& ended) {
  if (!source.is_open) return;
  for (std::size_t i = from; i < source.waiting.size();) {
    if (take(source, *source.waiting[i])) {
      ended.push_back(source.waiting[i]);
      source.waiting.erase(source.waiting.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (source.generator != nullptr || source.ids.buffered() == 0) {
      return;
    } else {
      ++i;
    }
  }
}

bool Drawing::begin(std::string_view tag, const std::shared_ptr<Draw>& draw) {
  auto found = sources_.find(tag);
  if (found == sources_.end()) {
    auto source = std::make_unique<Source>();
    source->tag = tag;
    found = sources_.emplace(std::string(tag), std::move(source)).first;
  }
  Source& source = *found->second;
  if (source.is_open && may_go_first(source) && take(source, *draw)) return true;
  source.waiting.push_back(draw);
  ++waiting_;
  if (source.is_looked_for || source.job != 0) return false;
  if (source.is_open || source.tag.empty()) {
    go_on(source);
  } else {
    source.is_looked_for = true;
    to_look_for_.push_back(source.tag);
    look();
  }
  return false;
}

void Drawing::abandon(std::string_view tag, const Draw& draw) {
  const auto source = sources_.find(tag);
  if (source == sources_.end()) return;
  auto& waiting = source->second->waiting;
  const auto found =
      std::ranges::find_if(waiting, [&](const std::shared_ptr<Draw>& one) { return one.get() == &draw; });
  if (found == waiting.end()) return;
  (*found)->is_abandoned = true;
  waiting.erase(found);
  --waiting_;
  go_on(*source->second);
}

/// All tags that nobody has looked for yet, in one go.
void Drawing::look() {
  if (looks_ || to_look_for_.empty()) return;
  looks_ = true;
  jobs_.buffers.add([this, names = std::exchange(to_look_for_, {})] {
    auto found = shared_.open_buffered(names);
    boost::asio::post(loop_, [this, names, found = std::move(found)] { finish_look(names, found); });
  });
}

void Drawing::finish_look(const std::vector<std::string>& names,
                          const std::vector<std::optional<SharedDrawing::OpenTag>>& found) {
  looks_ = false;
  Draws ended;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Source& source = *sources_.find(names[i])->second;
    source.is_looked_for = false;
    if (found[i]) {
      source.ids = found[i]->ids;
      source.step = found[i]->step;
      source.is_open = true;
      take_waiting(source, 0, ended);
    }
    go_on(source);
  }
  look();
  end(ended);
}

/// Has a thread see to the first draw, where there is one; else nothing is kept of a name that is no tag's.
void Drawing::go_on(Source& source) {
  if (source.is_looked_for) return;
  if (source.waiting.empty()) {
    if (source.job != 0 && jobs_of(source).take_back(source.job)) source.job = 0;
    if (source.job == 0 && !source.is_open) sources_.erase(sources_.find(std::string_view(source.tag)));
  } else if (source.job == 0) {
    source.job = jobs_of(source).add(job_for_first(source));
  } else {
    // If it has not begun, another one may be the first by now.
    jobs_of(source).replace(source.job, job_for_first(source));
  }
}

Jobs::Job Drawing::job_for_first(Source& source) {
  const std::shared_ptr<Draw>& first = source.waiting.front();
  return [this, &source, name = source.tag,
          work = Work{.draw = first,
                      .is_open = source.is_open,
                      .ids = source.ids,
                      .generator = source.generator,
                      .step = source.step,
                      .count = first->count,
                      .shape = first->shape,
                      .ranges = first->ranges,
                      .store_changes = first->store_changes}]() mutable {
    const auto begin = [&work] {
      if (work.ranges.empty()) work.store_changes = store_changes_of(work.ids, work.generator);
    };
    try {
      if (name.empty()) {
        if (!work.is_open) work.generator = &shared_.generator();
        begin();
        SharedDrawing::draw(*work.generator, work.count, work.ranges, work.draw->is_abandoned);
      } else {
        if (!work.is_open) {
          SharedDrawing::OpenTag opened = shared_.tag(leaf::TagName(name));
          work.ids = opened.ids;
          work.step = opened.step;
        }
        if (work.count == Draw::one_step) work.count = static_cast<std::uint64_t>(work.step);
        begin();
        work.ranges = SharedDrawing::draw(work.ids, work.count, work.shape);
      }
    } catch (const leaf::Error& error) {
      work.error = error;
    } catch (const std::exception& error) {
      work.error = leaf::Error(leaf::ErrorCode::failed, error.what());
    }
    shared_.note_draw(name, work.error);
    boost::asio::post(loop_, [this, &source, work = std::move(work)]() mutable { finish_job(source, work); });
  };
}

void Drawing::finish_job(Source& source, Work& work) {
  source.job = 0;
  if (!work.error && !source.is_open) {
    source.ids = work.ids;
    source.generator = work.generator;
    source.step = work.step;
    source.is_open = true;
  }
  // Who is told may ask for more at once: so all else is done first.
  Draws ended;
  // The one that it was for may have given up.
  if (!source.waiting.empty() && source.waiting.front() == work.draw) {
    const std::shared_ptr<Draw> first = source.waiting.front();
    first->count = work.count;
    first->ranges = std::move(work.ranges);
    first->store_changes = work.store_changes;
    first->error = work.error;
    // Where the stores differ it is drawn anew.
    if (first->error || is_of_one_store(source, *first)) {
      source.waiting.pop_front();
      ended.push_back(first);
    }
  }
  // It was removed, and may be another one when it is asked for again.
  if (work.error && work.error->code() == leaf::ErrorCode::not_found) source.is_open = false;
  take_waiting(source, 0, ended);
  // The others would wait for the same.
  if (work.error && (is_of_store(*work.error) || !source.is_open)) {
    for (const auto& draw : std::exchange(source.waiting, {})) {
      draw->error = work.error;
      ended.push_back(draw);
    }
  }
  go_on(source);
  end(ended);
}

void Drawing::look_again() {
  if (waiting_ == 0) return;
  Draws ended;
  for (const auto& [name, source] : sources_) {
    // A thread may be at the first.
    if (source->is_open && source->job != 0) take_waiting(*source, 1, ended);
  }
  end(ended);
}

/// Whoever is told may have others give up.
void Drawing::end(const Draws& draws) {
  waiting_ -= draws.size();
  for (const auto& draw : draws) {
    if (draw->drawer != nullptr) draw->drawer->on_drawn();
  }
}

}  // namespace leafctl::serve
