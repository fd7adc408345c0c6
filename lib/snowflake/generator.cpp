#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "host/host_marks.hpp"
#include "layout/layout_text.hpp"
#include "leaf/snowflake.hpp"
#include "range/refiller.hpp"
#include "snowflake/host_windows.hpp"
#include "snowflake/own_windows.hpp"
#include "store/lease_clocks.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using range::DoubleBuffer;
using std::chrono::milliseconds;

/// How late sleep_for() may come back: so long before its end a wait goes over to looking at the clock again
/// and again.
constexpr std::chrono::microseconds sleep_is_late_by{150};

/// How far the time of IDs may stay behind at full rate, to make up for lost time.
constexpr milliseconds max_lag{20};

/// Where the sequence starts in a unit of time of which little will be used, so that IDs spread over shards.
constexpr std::int64_t random_starts = 100;

range::Refiller::Options refiller_options(const SnowflakeOptions& options) {
  range::Refiller::Options result{.timeout = options.timeout, .max_threads = 1, .on_failure = {}};
  if (options.on_renewal_failure) {
    result.on_failure = [report = options.on_renewal_failure](const range::Refillable&, const Error& error) {
      report(error);
    };
  }
  return result;
}

const SnowflakeOptions& valid(const SnowflakeOptions& options) {
  if (options.max_backward < milliseconds::zero() || options.timeout < milliseconds::zero()) {
    throw Error(ErrorCode::usage, "a duration is below zero");
  }
  if (options.release_at_end && options.host) {
    throw Error(ErrorCode::usage, "the windows of a host are not released by one generator",
                "leave out one of 'host' and 'release_at_end'"_hint);
  }
  return options;
}

std::unique_ptr<snowflake::Windows> make_windows(const StoreOptions& options_of_store,
                                                 const SnowflakeOptions& options) {
  const StoreOptions store = host::to_keep(options_of_store, options.host);
  const auto refiller = refiller_options(valid(options));
  WorkerRequest request = options.worker;
  request.max_backward = options.max_backward;
  if (!options.host)
    return std::make_unique<snowflake::OwnWindows>(store, request, refiller, options.release_at_end);
  return std::make_unique<snowflake::HostWindows>(store, *options.host, request, options.timeout, refiller);
}

}  // namespace

class SnowflakeGenerator::Impl {
 public:
  Impl(const StoreOptions& store, const SnowflakeOptions& options)
      : clock_(*store.clock),
        owner_(options.worker.owner),
        max_backward_(options.max_backward),
        timeout_(options.timeout),
        windows_(make_windows(store, options)),
        positions_(windows_->positions()) {}

  /// Makes at least one of `ids`; returns how many.
  std::size_t draw(std::span<std::int64_t> ids);

  const Layout& layout() const noexcept { return positions_.layout(); }
  snowflake::Windows& windows() noexcept { return *windows_; }
  std::int64_t worker() const noexcept { return windows_->buffer().view().label; }

 private:
  /// Where the clock stands, in units of the layout. Throws Error (exhausted) outside of it.
  std::int64_t ticks_now() const { return layout().ticks_at(std::chrono::floor<milliseconds>(clock_.now())); }
  std::int64_t first_position_to_take(const DoubleBuffer::View& view, std::int64_t now) const;
  void go_to_window_of(DoubleBuffer& buffer, const DoubleBuffer::View& view, std::int64_t now);
  void wait_past(std::int64_t ticks) const;
  void require_small_lead(std::int64_t ticks, std::int64_t now) const;

  Clock& clock_;
  const std::string owner_;
  const milliseconds max_backward_;
  const milliseconds timeout_;
  const std::unique_ptr<snowflake::Windows> windows_;
  const layout::Positions& positions_;
};

std::size_t SnowflakeGenerator::Impl::draw(std::span<std::int64_t> ids) {
  std::int64_t may_open = -1;  // the unit of time that the clock has allowed to begin although it lies ahead
  for (;;) {
    const std::int64_t now = ticks_now();
    DoubleBuffer& buffer = windows_->buffer();  // another one where the host's file was replaced meanwhile
    const DoubleBuffer::View view = buffer.view();
    const std::int64_t from = first_position_to_take(view, now);
    if (from >= view.rest.hi) {
      go_to_window_of(buffer, view, now);
      continue;
    }
    const std::int64_t ticks = positions_.ticks_of(from);
    if (ticks > now) {
      require_small_lead(positions_.ticks_of(from - 1), now);
      // The unit that is open may be used up. The next one is begun at the clock's pace, also while it is
      // behind.
      if (positions_.sequence_of(from) == 0 && ticks != may_open) {
        wait_past(now);
        may_open = ticks;
        continue;
      }
    }
    const std::int64_t end = std::min({view.rest.hi, positions_.first_of(std::max(ticks, now) + 1),
                                       from + static_cast<std::int64_t>(ids.size())});
    if (!buffer.take_up_to(view, end)) continue;
    if (view.mark_reached && !view.has_next) windows_->request();
    const std::int64_t worker_bits = layout().worker_bits(view.label);
    for (std::int64_t position = from; position < end; ++position) {
      ids[static_cast<std::size_t>(position - from)] = positions_.id_of(position, worker_bits);
    }
    return static_cast<std::size_t>(end - from);
  }
}

/// The cursor, dragged along by the clock.
std::int64_t SnowflakeGenerator::Impl::first_position_to_take(const DoubleBuffer::View& view,
                                                              std::int64_t now) const {
  const std::int64_t clock = positions_.first_of(now);
  if (view.rest.lo > clock) return view.rest.lo;
  // A unit that was used up to its last number means full rate. Nothing of the ceiling may be lost then,
  // neither to a start above 0 nor, while it is little, to time in which the scheduler ran something else.
  if (positions_.sequence_of(view.rest.lo) == 0 && !view.untouched) {
    const auto lag = (now - positions_.ticks_of(view.rest.lo)) * layout().unit();
    return lag <= max_lag ? view.rest.lo : clock;
  }
  thread_local std::minstd_rand random(std::random_device{}());
  const std::int64_t starts = std::min(random_starts, (layout().max_sequence() + 1) / 2);
  return clock +
         std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(starts - 1, 0))(random);
}

void SnowflakeGenerator::Impl::go_to_window_of(DoubleBuffer& buffer, const DoubleBuffer::View& view,
                                               std::int64_t now) {
  const auto serves = [&](const Range& window) {
    return !window.empty() && positions_.first_of(now) < window.hi;
  };
  if (view.has_next && serves(view.next)) {
    buffer.advance(view);
    return;
  }
  // Both windows are kept until the store has confirmed the time: the clock may have jumped, and come back.
  windows_->await([&] {
    const DoubleBuffer::View seen = windows_->buffer().view();
    return serves(seen.rest) || (seen.has_next && serves(seen.next));
  });
}

void SnowflakeGenerator::Impl::require_small_lead(std::int64_t ticks, std::int64_t now) const {
  const milliseconds lead = (ticks - now) * layout().unit();
  if (lead <= std::max(max_backward_, layout().unit())) return;
  throw Error(
      ErrorCode::refused,
      fmt::format("this host's clock ({}) is {} behind the last ID's ({})", to_rfc3339(layout().time_at(now)),
                  rough_text_of(lead), to_rfc3339(layout().time_at(ticks))),
      store::hint_behind(lead, owner_));
}

/// Returns once the clock is past the unit `ticks`, or was set back. Throws Error (unavailable) if it stands
/// still.
void SnowflakeGenerator::Impl::wait_past(std::int64_t ticks) const {
  const auto deadline = clock_.steady_now() + timeout_ + layout().unit();
  const UnixTime begin = layout().time_at(ticks);
  const UnixTime end = begin + layout().unit();
  for (auto now = clock_.now(); now >= begin && now < end; now = clock_.now()) {
    if (clock_.steady_now() > deadline) {
      throw Error(ErrorCode::unavailable, fmt::format("the clock stands still at {}", to_rfc3339(begin)));
    }
    clock_.sleep_for(std::max(end - now - sleep_is_late_by, std::chrono::system_clock::duration::zero()));
  }
}

SnowflakeGenerator::SnowflakeGenerator(const StoreOptions& store, const SnowflakeOptions& options)
    : impl_(std::make_unique<Impl>(store, options)) {}
SnowflakeGenerator::~SnowflakeGenerator() = default;

std::int64_t SnowflakeGenerator::next() {
  std::int64_t id = 0;
  impl_->draw({&id, 1});
  return id;
}

void SnowflakeGenerator::next(std::span<std::int64_t> ids) {
  while (!ids.empty()) ids = ids.subspan(impl_->draw(ids));
}

const Layout& SnowflakeGenerator::layout() const noexcept {
  return impl_->layout();
}

std::int64_t SnowflakeGenerator::worker() const noexcept {
  return impl_->worker();
}

bool SnowflakeGenerator::claim_fetch() {
  return impl_->windows().claim_fetch();
}

void SnowflakeGenerator::fetch() {
  impl_->windows().fetch();
}

}  // namespace leaf
