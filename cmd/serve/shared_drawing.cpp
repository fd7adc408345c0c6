#include "serve/shared_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "serve/readiness.hpp"

namespace leafctl::serve {

namespace {

/// How often a run that others have cut short is asked for again.
constexpr int most_attempts = 8;

/// As long as what a host knows of a store's name.
constexpr std::chrono::seconds layout_lasts{30};

/// A failure that is longer ago says nothing: nobody may have asked since.
constexpr std::chrono::seconds recent{3};

/// The `left` IDs of the buffer, which are too few for a run of `count`, and as many behind them. If the tag
/// does not have those, the run may begin in what is left.
std::vector<leaf::Range> draw_behind(leaf::SegmentTag& tag, std::uint64_t left, std::uint64_t count) {
  try {
    return tag.next_ranges(left + count);
  } catch (const leaf::Error& error) {
    if (error.code() != leaf::ErrorCode::exhausted || left == 0) throw;
    return tag.next_ranges(count);
  }
}

leaf::Range draw_run(leaf::SegmentTag& tag, std::uint64_t count) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    // Read first, so that a segment that comes meanwhile is not counted.
    const std::uint64_t left = tag.buffered();
    if (const leaf::Range run = tag.try_next_run(count); !run.empty()) return run;
    const leaf::Range last = draw_behind(tag, left, count).back();
    if (last.size() >= count) return {last.hi - static_cast<std::int64_t>(count), last.hi};
  }
  throw leaf::Error(leaf::ErrorCode::unavailable,
                    fmt::format("cannot draw {} consecutive IDs while others draw as well", count));
}

}  // namespace

/// A connection for one question: as many as there are at once.
class SharedDrawing::BorrowedStore {
 public:
  explicit BorrowedStore(SharedDrawing& drawing) : drawing_(drawing), store_(drawing.take_store()) {}
  ~BorrowedStore() { drawing_.return_store(std::move(store_)); }
  BorrowedStore(const BorrowedStore&) = delete;
  BorrowedStore& operator=(const BorrowedStore&) = delete;
  leaf::Store* operator->() { return &store_; }

 private:
  SharedDrawing& drawing_;
  leaf::Store store_;
};

SharedDrawing::SharedDrawing(const Options& options)
    : options_(options), allocator_(options.store, options.segments) {}

leaf::Store SharedDrawing::take_store() {
  const std::lock_guard lock(mutex_);
  if (stores_.empty()) return leaf::Store(options_.store);
  leaf::Store store = std::move(stores_.back());
  stores_.pop_back();
  return store;
}

void SharedDrawing::return_store(leaf::Store store) {
  const std::lock_guard lock(mutex_);
  stores_.push_back(std::move(store));
}

std::optional<std::int64_t> SharedDrawing::known_step(const leaf::TagName& name) {
  const std::lock_guard lock(mutex_);
  const auto found = steps_.find(name);
  return found == steps_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<leaf::HostBuffer> SharedDrawing::buffers() const {
  const auto& host = options_.segments.host;
  if (!host) return {};
  const auto store = leaf::last_known_store(options_.store.url, *host);
  if (!store) return {};
  auto found = leaf::host_buffers(*host);
  // Others may have tags of the same names.
  std::erase_if(found, [&](const leaf::HostBuffer& buffer) { return !buffer.is_of(*store); });
  return found;
}

SharedDrawing::OpenTag SharedDrawing::tag(const leaf::TagName& name) {
  std::optional<std::int64_t> step = known_step(name);
  if (!step) {
    step = BorrowedStore(*this)->tag(name).step;
    const std::lock_guard lock(mutex_);
    steps_.emplace(name, *step);
  }
  return {allocator_.tag(name), *step};
}

/// With the store away, what this host has buffered shows that a tag exists.
std::vector<std::optional<SharedDrawing::OpenTag>> SharedDrawing::open_buffered(
    const std::vector<std::string>& names) {
  std::vector<std::optional<OpenTag>> found(names.size());
  try {
    const auto buffered = buffers();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const leaf::TagName name(names[i]);
      std::optional<std::int64_t> step = known_step(name);
      if (!step) {
        const auto buffer = std::ranges::find_if(buffered, [&](const leaf::HostBuffer& one) {
          return one.kind == leaf::HostBuffer::Kind::tag && one.name == name.str() && one.in_use &&
                 !one.is_former && !one.damaged;
        });
        if (buffer == buffered.end()) continue;
        step = std::max<std::int64_t>(buffer->tag_step, 1);
      }
      found[i] = OpenTag{allocator_.tag(name), *step};
      const std::lock_guard lock(mutex_);
      steps_.emplace(name, *step);
    }
  } catch (const std::exception&) {
    // tag() meets it again, and says it.
  }
  return found;
}

IdRanges SharedDrawing::draw(leaf::SegmentTag& tag, std::uint64_t count, Shape shape) {
  return shape == Shape::consecutive ? IdRanges{draw_run(tag, count)} : tag.next_ranges(count);
}

leaf::SnowflakeGenerator& SharedDrawing::generator() {
  const std::lock_guard lock(generator_mutex_);
  if (!generator_)
    generator_ = std::make_unique<leaf::SnowflakeGenerator>(options_.store, options_.snowflakes);
  return *generator_;
}

void SharedDrawing::draw(leaf::SnowflakeGenerator& generator, std::uint64_t count, IdRanges& ranges,
                         const std::atomic<bool>& is_abandoned) {
  std::array<std::int64_t, 512> ids{};
  // No more at once than a unit of time has: the next one may be minutes away.
  const auto most = std::min(ids.size(), static_cast<std::size_t>(generator.layout().max_sequence() + 1));
  for (std::uint64_t drawn = count_of(ranges); drawn < count && !is_abandoned;) {
    const auto batch =
        std::span(ids).first(static_cast<std::size_t>(std::min<std::uint64_t>(most, count - drawn)));
    generator.next(batch);
    append_ids(ranges, batch);
    drawn += batch.size();
  }
}

std::optional<leaf::Layout> SharedDrawing::known_layout() {
  const std::lock_guard lock(mutex_);
  return layout_;
}

std::optional<leaf::Layout> SharedDrawing::recent_layout() {
  const std::lock_guard lock(mutex_);
  return clock().steady_now() - layout_asked_ < layout_lasts ? layout_ : std::nullopt;
}

leaf::Layout SharedDrawing::layout() {
  if (const auto recent = recent_layout()) return *recent;
  std::optional<leaf::Layout> layout = known_layout();
  try {
    layout = BorrowedStore(*this)->layout();
  } catch (const leaf::Error&) {
    if (!layout) throw;
  }
  const std::lock_guard lock(mutex_);
  layout_ = layout;
  layout_asked_ = clock().steady_now();
  return *layout;
}

/// A tag that is not there, or used up, says nothing of the store.
void SharedDrawing::note_draw(const std::string& tag, const std::optional<leaf::Error>& error) {
  const std::lock_guard lock(mutex_);
  if (error && error->code() == leaf::ErrorCode::not_found && !tag.empty()) steps_.erase(leaf::TagName(tag));
  if (error && (error->code() == leaf::ErrorCode::not_found || error->code() == leaf::ErrorCode::exhausted))
    return;
  failed_draw_.reset();
  if (error) failed_draw_ = FailedDraw{.at = clock().steady_now(), .why = error->what()};
}

/// A store that answers may grant nothing all the same, as while somebody holds a lock. What is fetched for
/// this host is tried again soon without being asked for; a draw gives up sooner than a fetch.
void SharedDrawing::require_none_fails(const std::vector<leaf::HostBuffer>& buffered) const {
  if (!failed_draw_) return;
  for (const leaf::HostBuffer& buffer : buffered) {
    if (buffer.kind != leaf::HostBuffer::Kind::tag || buffer.is_former || buffer.failures == 0 ||
        !steps_.contains(leaf::TagName(buffer.name)) || buffer.retry_at + recent < clock().now())
      continue;
    throw leaf::Error(leaf::ErrorCode::unavailable, fmt::format("tag '{}' has no IDs left, and gets none: {}",
                                                                buffer.name, buffer.failure));
  }
  if (clock().steady_now() - failed_draw_->at <= recent)
    throw leaf::Error(leaf::ErrorCode::unavailable,
                      fmt::format("no IDs are left, and the last draw failed: {}", failed_draw_->why));
}

void SharedDrawing::require_ready() {
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex_);
    has_failed = failed_draw_.has_value();
  }
  if (options_.segments.host) {
    const auto buffered = buffers();
    const std::lock_guard lock(mutex_);
    const auto is_filled = [&](const std::pair<const leaf::TagName, std::int64_t>& tag) {
      return std::ranges::any_of(buffered, [&](const leaf::HostBuffer& buffer) {
        return buffer.kind == leaf::HostBuffer::Kind::tag && buffer.name == tag.first.str() &&
               !buffer.is_former && buffer.current.size() + buffer.next.size() > 0;
      });
    };
    if (!steps_.empty() && std::ranges::all_of(steps_, is_filled)) return;
    if (std::ranges::none_of(steps_, is_filled)) require_none_fails(buffered);
  }
  BorrowedStore store(*this);
  store->set_timeout(std::chrono::milliseconds(0));
  try {
    store->identity();
    require_writable(store->health(), has_failed);
  } catch (...) {
    store->set_timeout(options_.store.timeout);
    throw;
  }
  store->set_timeout(options_.store.timeout);
}

}  // namespace leafctl::serve
