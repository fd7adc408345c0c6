#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/snowflake.hpp"
#include "simulation/threads.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

/// How much longer than its timeout one may wait for a clock that stands still, and for a lease that came too
/// late to be given up.
constexpr Time slow_clock = second;
/// Where one who ends gives back less than that, it may have been drawn from.
constexpr Time drawn_since = second;

/// They make snowflake IDs with one generator.
class WindowThreads final : WatchedProgram {
 public:
  WindowThreads(const Place& place, Process& process, bool is_shared) : WatchedProgram(place, process) {
    is_shared_ = is_shared;
    afterwards_ = slow_clock;
  }

  void run() {
    const bool throws = random().one_in(4);
    options_.timeout = some_timeout();
    note_timeout(options_.timeout);
    options_.worker.owner = owner_of(place_.host);
    // Others of the same owner may take its worker once its window is over.
    const bool is_sole = !is_shared_ && random().one_in(2);
    if (is_sole) options_.worker.owner += fmt::format("-{}", process_.number);
    if (scenario().is_pinned) options_.worker.worker = 1;
    options_.worker.window = scenario().window;
    options_.max_backward = scenario().max_backward;
    options_.on_renewal_failure = [throws](const Error&) {
      if (throws) throw std::runtime_error("of the program's own");
    };
    if (is_shared_) options_.host = host_options(true);
    options_.release_at_end = !is_shared_ && random().one_in(4);
    const bool is_too_short = scenario().layout.unit() > minutes_of_a_usual_window / 2 && random().one_in(2);
    if (is_too_short) options_.worker.window = milliseconds(1000);
    std::optional<SnowflakeGenerator> generator;
    if (!lease(generator, is_too_short)) return;
    const std::int64_t worker = generator->worker();
    last_drawn_at_ = place_.host.clock();
    const int threads = own_threads_ = static_cast<int>(random().between(1, 3));
    is_alone_ = threads == 1 && (is_sole || scenario().slots == 1);
    in_threads(threads, [&](int) { draw(*generator); });
    if (is_sole && !scenario().has_another_store && generator->worker() != worker)
      fail("has another worker, though its own was not recycled");
    const bool is_calm = now() >= served_from({});
    generator.reset();
    if (!is_shared_ && is_calm) require_given_back();
  }

 private:
  static constexpr milliseconds minutes_of_a_usual_window{600'000};

  milliseconds some_timeout() const {
    constexpr std::array<int, 6> timeouts{0, 200, 1000, 1000, 5000, 5000};
    return milliseconds(timeouts[static_cast<std::size_t>(random().below(timeouts.size()))]);
  }

  /// By its own store, before there is a generator that waits.
  bool lease(std::optional<SnowflakeGenerator>& generator, bool is_too_short) {
    const milliseconds timeout = is_shared_ ? options_.timeout : StoreOptions().timeout;
    const auto make = [&] { generator.emplace(store_options(), options_); };
    constexpr int questions = 3;  // to the store, each with its time
    if (!make_ids(timeout, make, is_shared_ ? (is_coarse() ? 2 : 1) : questions)) return false;
    if (!is_too_short) return true;
    if (!is_shared_) fail("was leased a window that is longer than it asked for, and than usual ones");
    return false;
  }

  /// Whether the clock is one by which IDs can be made, as of the call that began then.
  bool has_good_clock() const {
    const Time offset = place_.host.clock() - now();
    return place_.host.stands_at == 0 && std::abs(offset) <= most_steps();
  }
  Time most_steps() const {
    return std::min<Time>(Time{scenario().max_backward.count()} * millisecond * 9 / 20, 4 * second);
  }

  bool is_coarse() const { return scenario().layout.unit() > milliseconds(10); }
  /// Whether nobody ever waits for a window, once there is one.
  bool has_long_windows() const {
    return scenario().window >= minutes_of_a_usual_window && place_.host.furthest_ahead <= most_steps();
  }

  template <typename Work>
  bool make_ids(milliseconds timeout, Work work, int waits = 1) {
    const bool was_good = has_good_clock();
    std::optional<Error> refused;
    const Time begun = now(), from = served_from({});
    const int times_stopped = process_.times_stopped;
    const bool is_made = call(
        {}, timeout,
        [&] {
          try {
            work();
          } catch (const Error& error) {
            refused = error;
            throw;
          }
        },
        /*is_patient=*/false, waits);
    const bool is_promised = is_soon_served() && was_good && has_good_clock() && has_room() && !is_over() &&
                             begun >= std::max(from, served_from({})) &&
                             process_.times_stopped == times_stopped &&
                             timeout > milliseconds((is_shared_ ? 5 : 2) * prompt() / 2 / millisecond);
    if (!is_made && is_promised && options_.worker.window >= 2 * scenario().layout.unit())
      fail(fmt::format("made no ID, though nothing kept it from that: {}", refused->what()));
    return is_made;
  }
  /// Workers for all, and units of time that are over soon.
  bool has_room() const {
    return scenario().has_many_workers() && scenario().layout.unit() <= milliseconds(10) &&
           options_.worker.window >= milliseconds(4 * (prompt() / millisecond));
  }

  void note(const Ledger::Call& by, std::int64_t id) {
    const Layout& layout = scenario().layout;
    last_drawn_at_ =
        std::max(last_drawn_at_, Time{layout.time_of(id).time_since_epoch().count()} * millisecond);
    place_.log.note("snowflake", process_.number, id, id + 1);
    place_.ledger.drawn(by, Ledger::snowflakes, {id, id + 1}, place_.host.number,
                        is_shared_ ? 0 : process_.number);
  }
  Ledger::Call begin() {
    const bool is_ordered = scenario().layout.ordered_by_time();
    const std::string of = owner_of(place_.host) + (scenario().is_pinned ? " pinned" : "");
    Ledger::Order& order = is_shared_ ? place_.tally.orders[{place_.host.number, of}] : own_order_;
    return Ledger::begin(is_ordered && place_.host.folders_removed_at == 0 ? &order : nullptr);
  }

  void draw(SnowflakeGenerator& generator) {
    const std::int64_t most = scenario().lasts ? 100'000 : random().between(3, 16);
    for (std::int64_t calls = most; calls > 0 && !is_over(); --calls) {
      const std::int64_t count = random().spread(1, 20);
      std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
      const Ledger::Call many = begin();
      switch (random().below(3)) {
        case 0:
          if (make_ids(
                  options_.timeout, [&] { generator.next(ids); }, most_waits))
            for (const std::int64_t id : ids) note(many, id);
          break;
        case 1:
          try {
            const std::size_t made = generator.try_next(ids);
            for (std::size_t i = 0; i < made; ++i) note(many, ids[i]);
          } catch (const Error& error) {
            if (error.retryable()) fail(fmt::format("was to wait by a call that does not: {}", error.what()));
          }
          break;
        default:
          for (std::int64_t i = 0; i < count; ++i) {
            const Ledger::Call one = begin();
            std::int64_t id = 0;
            const Time waited_before = process_.kept_waiting, one_begun = now(), clock = place_.host.clock();
            const int waits = is_coarse() && !has_long_windows() ? 2 : 1;  // for a window, and a unit
            if (!make_ids(
                    options_.timeout, [&] { id = generator.next(); }, waits))
              break;
            require_one_unit(now() - one_begun - (process_.kept_waiting - waited_before),
                             now() - one_begun - (place_.host.clock() - clock));
            note(one, id);
          }
      }
      think();
    }
  }

  /// Who draws alone waits for the unit that follows, by whatever the clock is set: within a unit it is
  /// followed.
  void require_one_unit(Time waited, Time set_back) const {
    if (!is_alone_ || !has_long_windows() || scenario().may(Fault::still_clock) || process_.times_stopped > 0)
      return;
    const Time unit = Time{scenario().layout.unit().count()} * millisecond;
    if (waited > unit + std::clamp<Time>(set_back, 0, unit) + until_it_ends)
      fail(fmt::format("waited for {} ms, where a unit lasts {}", waited / millisecond, unit / millisecond));
  }

  /// What it has not used, up to the unit that it made its last ID in.
  void require_given_back() const {
    const auto end = place_.ledger.given_back_at(process_.number);
    const Time unit = Time{scenario().layout.unit().count()} * millisecond;
    if (options_.release_at_end || !end || !scenario().is_brisk) return;
    const Time kept = *end * millisecond - last_drawn_at_;
    if (kept > drawn_since + 2 * unit)
      fail(fmt::format("ended and kept {} ms of its window", kept / millisecond));
  }

  SnowflakeOptions options_;
  Ledger::Order own_order_{};
  Time last_drawn_at_ = 0;
};

}  // namespace

void Scenario::keep_to_window_threads(Random& random) {
  constexpr std::array troubles{Fault::outage, Fault::silence, Fault::stop,       Fault::kill,
                                Fault::clock,  Fault::clock,   Fault::still_clock};
  constexpr std::array windows{1'000,  2'000,   4'000,   10'000,    10'000,
                               60'000, 600'000, 600'000, 3'600'000, 86'400'000};
  constexpr std::array<const char*, 3> coarse{"time:31,worker:10,sequence:22/1h@1700000000000",
                                              "time:40,worker:10,sequence:4/2s@1700000000000",
                                              "time:40,worker:10,sequence:4/2s@1700000000000"};
  faults &= 1U << static_cast<unsigned>(troubles[static_cast<std::size_t>(random.below(troubles.size()))]);
  window = milliseconds(windows[static_cast<std::size_t>(random.below(windows.size()))]);
  if (random.one_in(6))
    layout = Layout::parse(coarse[static_cast<std::size_t>(random.below(coarse.size()))]);
  else if (random.one_in(4))
    layout = Layout::parse("time:41,worker:10,sequence:4");
  if (!has_many_workers()) window = std::min(window, milliseconds(600'000));
  window = std::max(window, 4 * layout.unit());
  max_backward = milliseconds(random.one_in(2) ? 2'000 : 8'000);
  recycle_after = milliseconds(3'600'000);
  kinds = {random.one_in(2) ? ActorKind::own_window_threads : ActorKind::host_window_threads};
  is_pinned = kinds.front() == ActorKind::host_window_threads && !may(Fault::kill) && random.one_in(4);
}

void run_window_threads(const Place& place, Process& process, ActorKind kind) {
  WindowThreads(place, process, kind == ActorKind::host_window_threads).run();
}

}  // namespace leaf::simulation
