#include "serve/drawing.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <utility>

namespace leafctl::serve {

namespace {

/// As many snowflake IDs are made at once.
constexpr std::size_t batch = 512;

leaf::StoreIdentity store_of(const leaf::SegmentTag& tag, const leaf::SnowflakeGenerator* generator) {
  return generator != nullptr ? generator->store() : tag.store();
}

}  // namespace

bool Drawing::try_next(std::string_view tag, std::int64_t& id) {
  const auto found = sources_.find(tag);
  if (found == sources_.end()) return false;
  Source& source = *found->second;
  if (!source.is_open || !source.waiting.empty()) return false;
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
    const leaf::Range run = source.ids.try_next_range(draw.count);
    if (run.size() != draw.count) return false;
    draw.ranges.assign({run});
    return true;
  }
  bool is_one_take = draw.ranges.empty();
  for (std::uint64_t drawn = count_of(draw.ranges); drawn < draw.count;) {
    const leaf::Range range = source.ids.try_next_range(draw.count - drawn);
    if (range.empty()) return false;
    append_range(draw.ranges, range);
    drawn += range.size();
    is_one_take = is_one_take && drawn == draw.count;
  }
  return is_one_take || is_of_one_store(source, draw);
}

/// IDs of two stores, as where the store was put back or its name led to another one meanwhile, would be no
/// answer: then they are lost.
bool Drawing::is_of_one_store(Source& source, Draw& draw) {
  const leaf::StoreIdentity now = store_of(source.ids, source.generator);
  if (now == source.store || draw.count == 1) return true;
  source.store = now;
  draw.ranges.clear();
  return false;
}

bool Drawing::begin(std::string_view tag, const std::shared_ptr<Draw>& draw) {
  auto found = sources_.find(tag);
  if (found == sources_.end()) {
    auto source = std::make_unique<Source>();
    source->tag = tag;
    found = sources_.emplace(std::string(tag), std::move(source)).first;
  }
  Source& source = *found->second;
  draw->begun = Clock::now();
  if (source.waiting.empty() && take(source, *draw)) return true;
  source.waiting.push_back(draw);
  ++waiting_;
  if (!source.is_at_work) see_to_first(source);
  return false;
}

void Drawing::see_to_first(Source& source) {
  source.is_at_work = true;
  boost::asio::post(pool_, [this, &source, name = source.tag, is_open = source.is_open,
                            opened = Opened{source.ids, source.generator, source.step},
                            draw = source.waiting.front()]() mutable {
    try {
      if (name.empty()) {
        if (!is_open) opened.generator = &shared_.generator();
        SharedDrawing::draw(*opened.generator, draw->count, draw->ranges);
      } else {
        const leaf::TagName tag(name);
        if (!is_open) {
          opened.ids = shared_.tag(tag);
          opened.step = shared_.step_of(tag);
          if (draw->count == Draw::one_step) draw->count = static_cast<std::uint64_t>(opened.step);
        }
        SharedDrawing::draw(opened.ids, draw->count, draw->shape, draw->ranges);
      }
    } catch (const leaf::Error& error) {
      draw->error = error;
    } catch (const std::exception& error) {
      draw->error = leaf::Error(leaf::ErrorCode::failed, error.what());
    }
    boost::asio::post(loop_, [this, &source, opened] { finish_first(source, opened); });
  });
}

void Drawing::finish_first(Source& source, const Opened& opened) {
  source.is_at_work = false;
  const std::shared_ptr<Draw> first = source.waiting.front();
  if (!first->error && !source.is_open) {
    source.ids = opened.ids;
    source.generator = opened.generator;
    source.step = opened.step;
    source.store = store_of(source.ids, source.generator);
    source.is_open = true;
  }
  // Who is told may ask for more at once: so all else is done first.
  std::vector<std::shared_ptr<Draw>> ended;
  // Where the stores differ it is drawn anew.
  if (first->error || is_of_one_store(source, *first)) {
    source.waiting.pop_front();
    ended.push_back(first);
  }
  // The others would wait for the same.
  if (first->error && (first->error->retryable() || !source.is_open)) {
    for (const auto& draw : std::exchange(source.waiting, {})) {
      draw->error = first->error;
      ended.push_back(draw);
    }
  }
  while (!source.waiting.empty() && take(source, *source.waiting.front())) {
    ended.push_back(source.waiting.front());
    source.waiting.pop_front();
  }
  if (!source.waiting.empty()) {
    see_to_first(source);
  } else if (!source.is_open) {
    // For names that nobody ever gave to a tag nothing is kept.
    sources_.erase(sources_.find(std::string_view(source.tag)));
  }
  for (const auto& draw : ended) end(*draw);
}

void Drawing::end(Draw& draw) {
  --waiting_;
  if (draw.drawer != nullptr) draw.drawer->on_drawn();
}

void Drawing::give_up_late(Clock::time_point now) {
  if (waiting_ == 0) return;
  std::vector<std::shared_ptr<Draw>> late;
  for (auto& [name, source] : sources_) {
    // A thread is at the first.
    const std::size_t keep = source->is_at_work ? 1 : 0;
    while (source->waiting.size() > keep && now - source->waiting[keep]->begun > patience_) {
      late.push_back(source->waiting[keep]);
      source->waiting.erase(source->waiting.begin() + static_cast<std::ptrdiff_t>(keep));
    }
  }
  for (const auto& draw : late) {
    draw->error = leaf::Error(leaf::ErrorCode::unavailable, "the store did not answer in time");
    end(*draw);
  }
}

}  // namespace leafctl::serve
