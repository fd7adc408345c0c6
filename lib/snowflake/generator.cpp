#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <random>

#include "host/host_marks.hpp"
#include "host/shared_ranges.hpp"
#include "leaf/snowflake.hpp"
#include "range/backoff.hpp"
#include "range/fetcher.hpp"
#include "range/own_ranges.hpp"
#include "snowflake/options.hpp"
#include "snowflake/pace.hpp"
#include "snowflake/window_granter.hpp"
#include "store/connection.hpp"
#include "store/expected_layout.hpp"
#include "store/fork_generation.hpp"
#include "store/retry.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using range::DoubleBuffer;
using std::chrono::milliseconds;

/// How far the time of IDs may stay behind at full rate, to make up for lost time.
constexpr milliseconds max_lag{20};

/// Where the sequence starts in a unit of time of which little will be used, so that IDs spread over shards.
constexpr std::int64_t random_starts = 100;

/// How many draws may go by one reading of the clock, where the last ones came one after the other.
constexpr int draws_a_reading = 100;
constexpr std::chrono::microseconds one_after_the_other{1};

/// What a thread knows of the unit of time that it drew from last: with that an ID costs a swap.
struct UnitInUse {
  std::uint64_t generator = 0;  ///< whose; 0: none's
  const DoubleBuffer* buffer = nullptr;
  std::uint64_t word = 0;      ///< of the buffer, as this thread left it
  std::uint32_t end = 0;       ///< offsets before it lie in the unit, and neither is a fetch due there
  std::int64_t position0 = 0;  ///< of offset 0
  std::int64_t worker_bits = 0;
  // Of the clock.
  std::int64_t tick = 0;
  std::chrono::system_clock::time_point read_at{};
  int draws = 0;       ///< since then
  int draws_left = 0;  ///< that may go by it
};
// The usual model would call a function for each ID.
[[gnu::tls_model("initial-exec")]] thread_local UnitInUse unit_in_use;

std::uint64_t new_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

bool has_window(const DoubleBuffer& buffer) {
  const auto view = buffer.view();
  return view.has_next || !view.rest.empty();
}

}  // namespace

class SnowflakeGenerator::Impl {
 public:
  /// Leases the first window, unless the host has one.
  Impl(const StoreOptions& store, const SnowflakeOptions& options);
  ~Impl();

  enum class Patience { waits, never_waits };

  /// Makes all of `ids`, of one store; returns how many. Fewer where it would have to wait and must not.
  std::size_t draw_all(std::span<std::int64_t> ids, Patience patience);
  /// Makes at least one of `ids`; returns how many. 0 where it would have to wait and must not.
  std::size_t draw(std::span<std::int64_t> ids, Patience patience);
  /// The same by the thread's last reading of the clock; 0 where that does not serve any more. Never waits.
  std::size_t draw_by_last_reading(std::span<std::int64_t> ids);
  /// The same by another reading.
  std::size_t draw_by_the_clock(std::span<std::int64_t> ids, Patience patience);

  bool is_of_another_process() const noexcept { return process_ != store::fork_generation(); }
  const Layout& layout() const noexcept { return positions_->layout(); }
  range::RangeSource& windows() noexcept { return *windows_; }
  std::int64_t worker() const noexcept;

 private:
  void note_worker(std::uint32_t worker) const noexcept;
  void note_reading(UnitInUse& unit, std::chrono::system_clock::time_point time) const;
  void compose(std::span<std::int64_t> ids, std::int64_t position, std::int64_t worker_bits) const;
  std::int64_t first_position_to_take(const DoubleBuffer::View& view, std::int64_t now) const;
  bool go_to_window_of(DoubleBuffer& buffer, const DoubleBuffer::View& view, std::int64_t now,
                       Patience patience, range::CallDeadline& deadline);

  void give_back(const range::OwnRanges& windows);

  const std::uint64_t number_ = new_number();
  const unsigned process_ = store::fork_generation();
  const StoreOptions store_;
  const SnowflakeOptions options_;
  Clock& clock_;
  std::unique_ptr<range::RangeSource> windows_;
  std::unique_ptr<range::Fetcher> fetcher_;  ///< null: the embedding program fetches
  // If the windows are not the host's:
  range::OwnRanges* own_windows_ = nullptr;
  std::optional<Store> own_store_;  ///< for the first lease and the end; the fetcher has one of its own
  std::optional<layout::Positions> positions_;
  using SharedWorker = std::atomic_ref<std::uint32_t>;  // no step for the simulator: no order depends on it
  /// The one that was in use when this last looked.
  alignas(SharedWorker::required_alignment) mutable std::uint32_t last_worker_ = 0;
};

SnowflakeGenerator::Impl::Impl(const StoreOptions& store, const SnowflakeOptions& options)
    : store_(host::to_keep(store, snowflake::valid(options).host)),
      options_(host::to_keep_for(store_, options)),
      clock_(*store_.clock) {
  const WorkerRequest request = snowflake::request_of(options_);
  auto granter = std::make_unique<snowflake::WindowGranter>(request, /*in_memory=*/!options_.host);
  if (!options_.host || options_.host->fetch_ahead)
    fetcher_ = std::make_unique<range::Fetcher>(store_, snowflake::fetcher_options(options_));
  if (options_.host) {
    windows_ = std::make_unique<host::SharedRanges>(std::move(granter), host::FileKind::worker,
                                                    snowflake::key_of(request), store_, *options_.host,
                                                    options_.timeout, fetcher_.get());
    const auto is_filled = [this] { return has_window(windows_->buffer()); };
    range::CallDeadline deadline;
    if (!is_filled()) windows_->await(is_filled, deadline);
  } else {
    auto own = std::make_unique<range::OwnRanges>(std::move(granter), store_, *fetcher_);
    own_windows_ = own.get();
    windows_ = std::move(own);
    own_store_.emplace(store_);
    windows_->fetch(*own_store_, /*is_awaited=*/true);
  }
  positions_.emplace(Layout::parse(windows_->origin()));
  require_expected_layout(request, layout());
  if (const auto view = windows_->buffer().view(); view.rest.empty()) {
    windows_->buffer().advance(view);
  } else {
    note_worker(view.label);
  }
  if (fetcher_) fetcher_->watch(*windows_);
}

SnowflakeGenerator::Impl::~Impl() {
  fetcher_.reset();  // no lease may come in any more
  if (own_windows_ == nullptr) return;
  try {
    give_back(*own_windows_);
  } catch (const std::exception&) {
    // The worker is free when its window is over.
  }
}

/// What was not used; with `release_at_end` the worker itself.
void SnowflakeGenerator::Impl::give_back(const range::OwnRanges& windows) {
  const auto last = range::record_as<range::WindowRecord>(windows.record());
  const UnixTime used_until = snowflake::used_until(last.begin, windows.buffer().view().rest.lo, *positions_);
  const WorkerLease lease{.worker = last.worker,
                          .token = last.token,
                          .begin = last.begin,
                          .end = layout().time_at(positions_->ticks_of(windows.buffer().published_end())),
                          .store = windows.granted_by()};
  if (options_.release_at_end) {
    own_store_->release_worker(lease, used_until);
  } else {
    own_store_->give_up_worker(lease, used_until);
  }
}

std::int64_t SnowflakeGenerator::Impl::worker() const noexcept {
  const DoubleBuffer::View view = windows_->buffer().view();
  // Where nothing is buffered, or nobody has drawn from it yet, the buffer does not know one.
  if (view.rest.hi == 0) return SharedWorker(last_worker_).load(std::memory_order_relaxed);
  note_worker(view.label);
  return view.label;
}

void SnowflakeGenerator::Impl::note_worker(std::uint32_t worker) const noexcept {
  const SharedWorker last(last_worker_);
  // Nearly all draw on with the same one, and to write it would delay the other threads.
  if (last.load(std::memory_order_relaxed) != worker) last.store(worker, std::memory_order_relaxed);
}

std::size_t SnowflakeGenerator::Impl::draw_all(std::span<std::int64_t> ids, Patience patience) {
  for (;;) {
    const std::uint64_t changes = windows_->buffer_changes();
    std::size_t made = 0;
    for (std::size_t more = 1; made < ids.size() && more > 0; made += more)
      more = draw(ids.subspan(made), patience);
    // IDs of two stores, or out of order, would be no answer: they are lost.
    if (windows_->buffer_changes() == changes) return made;
  }
}

std::size_t SnowflakeGenerator::Impl::draw(std::span<std::int64_t> ids, Patience patience) {
  const std::size_t drawn = draw_by_last_reading(ids);
  return drawn > 0 ? drawn : draw_by_the_clock(ids, patience);
}

inline void SnowflakeGenerator::Impl::compose(std::span<std::int64_t> ids, std::int64_t position,
                                              std::int64_t worker_bits) const {
  for (std::int64_t& id : ids) id = positions_->id_of(position++, worker_bits);
}

// Inlined: three calls more would take a third more time.
[[gnu::always_inline]] inline std::size_t SnowflakeGenerator::Impl::draw_by_last_reading(
    std::span<std::int64_t> ids) {
  UnitInUse& unit = unit_in_use;
  if (unit.generator != number_ || unit.draws_left <= 0 || clock_.tick() != unit.tick) return 0;
  DoubleBuffer& buffer = windows_->buffer();
  if (&buffer != unit.buffer) return 0;
  range::Backoff backoff;
  for (std::uint64_t word = unit.word;; backoff.pause()) {
    const std::uint32_t offset = DoubleBuffer::offset_of(word);
    if (DoubleBuffer::generation_of(word) != DoubleBuffer::generation_of(unit.word) || offset >= unit.end) {
      return 0;
    }
    const std::size_t count = std::min<std::size_t>(ids.size(), unit.end - offset);
    if (!buffer.take_at(word, static_cast<std::uint32_t>(count))) continue;
    unit.word = word;
    ++unit.draws;
    --unit.draws_left;
    compose(ids.first(count), unit.position0 + offset, unit.worker_bits);
    return count;
  }
}

/// One draw after the other shows that the next will come soon too.
void SnowflakeGenerator::Impl::note_reading(UnitInUse& unit,
                                            std::chrono::system_clock::time_point time) const {
  const bool is_known = unit.generator == number_;
  const auto since = time - unit.read_at;
  unit.draws_left =
      is_known && since >= since.zero() && since < unit.draws * one_after_the_other ? draws_a_reading : 0;
  unit.generator = number_;
  unit.read_at = time;
  unit.draws = 1;
}

std::size_t SnowflakeGenerator::Impl::draw_by_the_clock(std::span<std::int64_t> ids, Patience patience) {
  UnitInUse& unit = unit_in_use;
  std::int64_t may_open = -1;  // the unit of time that the clock has allowed to begin although it lies ahead
  range::CallDeadline deadline;
  std::optional<std::chrono::steady_clock::time_point> waits_until;  // others may use up unit after unit
  for (;;) {
    const std::int64_t tick = clock_.tick();
    const auto time = clock_.now();
    const std::int64_t now = layout().ticks_at(std::chrono::floor<milliseconds>(time));
    DoubleBuffer& buffer = windows_->buffer();  // another one where the host's file was replaced meanwhile
    const DoubleBuffer::View view = buffer.view();
    const std::int64_t from = first_position_to_take(view, now);
    if (from >= view.rest.hi) {
      if (!go_to_window_of(buffer, view, now, patience, deadline)) return 0;
      continue;
    }
    const std::int64_t ticks = positions_->ticks_of(from);
    if (ticks > now) {
      snowflake::require_small_lead(layout(), positions_->ticks_of(from - 1), now, options_);
      // The unit that is open may be used up. The next one is begun at the clock's pace, also while it is
      // behind.
      if (positions_->sequence_of(from) == 0 && ticks != may_open) {
        if (patience == Patience::never_waits) return 0;
        if (!waits_until) waits_until = clock_.steady_now() + store::allowed(options_.timeout);
        snowflake::wait_past(layout(), now, clock_, *waits_until);
        may_open = ticks;
        continue;
      }
    }
    const std::int64_t end_of_unit = std::min(view.rest.hi, positions_->first_of(std::max(ticks, now) + 1));
    const std::int64_t end = std::min(end_of_unit, from + static_cast<std::int64_t>(ids.size()));
    if (!buffer.take_up_to(view, end)) continue;
    note_worker(view.label);
    const bool is_due = view.mark_reached && !view.has_next;
    if (is_due) windows_->request_fetch();

    const std::uint32_t offset = DoubleBuffer::offset_of(view.word);
    unit.buffer = &buffer;
    unit.position0 = view.rest.lo - offset;
    unit.word = view.word + static_cast<std::uint64_t>(end - view.rest.lo);
    unit.worker_bits = layout().worker_bits(view.label);
    unit.end = static_cast<std::uint32_t>(end_of_unit - unit.position0);
    if (!view.mark_reached) unit.end = std::min(unit.end, view.mark);
    unit.tick = tick;  // only now: what was refused at it stays so
    note_reading(unit, time);
    if (ticks > now || is_due) unit.draws_left = 0;

    const auto drawn = static_cast<std::size_t>(end - from);
    compose(ids.first(drawn), from, unit.worker_bits);
    return drawn;
  }
}

/// The cursor, dragged along by the clock.
std::int64_t SnowflakeGenerator::Impl::first_position_to_take(const DoubleBuffer::View& view,
                                                              std::int64_t now) const {
  const std::int64_t clock = positions_->first_of(now);
  if (view.rest.lo > clock) return view.rest.lo;
  // A unit that was used up to its last number means full rate. Nothing of the ceiling may be lost then,
  // neither to a start above 0 nor, while it is little, to time in which the scheduler ran something else.
  if (positions_->sequence_of(view.rest.lo) == 0 && !view.untouched) {
    const auto lag = (now - positions_->ticks_of(view.rest.lo)) * layout().unit();
    return lag <= max_lag ? view.rest.lo : clock;
  }
  thread_local std::minstd_rand random(std::random_device{}());
  const std::int64_t starts = std::min(random_starts, (layout().max_sequence() + 1) / 2);
  return clock +
         std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(starts - 1, 0))(random);
}

/// False if the window that serves is still to come, and must not be waited for. Throws Error (unavailable)
/// if windows came, since the call has a deadline, and were over each time.
bool SnowflakeGenerator::Impl::go_to_window_of(DoubleBuffer& buffer, const DoubleBuffer::View& view,
                                               std::int64_t now, Patience patience,
                                               range::CallDeadline& deadline) {
  const auto serves = [&](const Range& window) {
    return !window.empty() && positions_->first_of(now) < window.hi;
  };
  if (view.has_next && serves(view.next)) {
    buffer.advance(view);
    return true;
  }
  if (patience == Patience::never_waits) return false;
  const bool was_over = deadline.has_value();
  if (!was_over) deadline = clock_.steady_now() + store::allowed(options_.timeout);
  const auto is_there = [&] {
    // It may have been ahead, and be set meanwhile: windows up to there would be leased.
    now = std::min(now, layout().ticks_at(std::chrono::floor<milliseconds>(clock_.now())));
    const DoubleBuffer::View seen = windows_->buffer().view();
    return serves(seen.rest) || (seen.has_next && serves(seen.next));
  };
  // Both windows are kept until the store has confirmed the time: the clock may have jumped, and come back.
  try {
    windows_->await(is_there, deadline);
  } catch (const Error& error) {
    const bool is_late = error.sqlstate().empty() || error.sqlstate() == store::sqlstate::timed_out;
    if (!was_over || !error.retryable() || !is_late) throw;
    throw Error(ErrorCode::unavailable,
                fmt::format("windows of {} are over before they come from the store",
                            text_of(options_.worker.window)),
                "lease longer ones"_hint);
  }
  return true;
}

SnowflakeGenerator::SnowflakeGenerator(const StoreOptions& store, const SnowflakeOptions& options)
    : impl_(std::make_unique<Impl>(store, options)) {}
SnowflakeGenerator::~SnowflakeGenerator() {
  // The parent goes on with its worker, and its threads are not here.
  if (impl_->is_of_another_process()) static_cast<void>(impl_.release());
}

std::int64_t SnowflakeGenerator::next() {
  std::int64_t id;
  if (impl_->draw_by_last_reading({&id, 1}) == 0) [[unlikely]]
    impl_->draw_by_the_clock({&id, 1}, Impl::Patience::waits);
  return id;
}

bool SnowflakeGenerator::try_next(std::int64_t& id) noexcept {
  return impl_->draw_by_last_reading({&id, 1}) > 0;
}

void SnowflakeGenerator::next(std::span<std::int64_t> ids) {
  impl_->draw_all(ids, Impl::Patience::waits);
}

std::size_t SnowflakeGenerator::try_next(std::span<std::int64_t> ids) {
  return impl_->draw_all(ids, Impl::Patience::never_waits);
}

const Layout& SnowflakeGenerator::layout() const noexcept {
  return impl_->layout();
}

StoreIdentity SnowflakeGenerator::store() const {
  return impl_->windows().granted_by();
}

std::uint64_t SnowflakeGenerator::store_changes() const noexcept {
  return impl_->windows().buffer_changes();
}

std::int64_t SnowflakeGenerator::worker() const noexcept {
  return impl_->worker();
}

bool SnowflakeGenerator::is_fetch_due() {
  return impl_->windows().is_fetch_due();
}

bool SnowflakeGenerator::claim_fetch() {
  return impl_->windows().claim_fetch();
}

bool SnowflakeGenerator::is_check_due() {
  return impl_->windows().is_check_due();
}

void SnowflakeGenerator::fetch() {
  impl_->windows().fetch();
}

}  // namespace leaf
