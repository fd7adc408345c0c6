// Programs that make snowflake IDs, and know how the clock of their host is set: before their calls, and
// while they are in one. Nothing else happens, so it can be told which calls succeed, and how soon.

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/shared_state.hpp"
#include "leaf/host.hpp"
#include "leaf/snowflake.hpp"
#include "range/range_source.hpp"
#include "simulation/threads.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

/// By how much the clock is wrong at most where IDs are promised: by less than half of what is allowed
/// between two clocks, so that neither the store's nor an earlier one is further away.
constexpr Time most_wrong = 2'400 * millisecond;
/// After an outage a pause may end so much later: by then no clock that was set has it end later still.
constexpr Time pauses_last = 7 * second;
constexpr int most_used_up = 2'000;

Time time_of(milliseconds duration) {
  return Time{duration.count()} * millisecond;
}

class ClockUser final : WatchedProgram {
 public:
  ClockUser(const Place& place, Process& process) : WatchedProgram(place, process) {}

  void run() {
    is_shared_ = scenario().is_of_host;
    options_.timeout = milliseconds(5000);
    options_.worker.owner = owner_of(host());
    options_.worker.window = scenario().window;
    options_.max_backward = scenario().max_backward;
    afterwards_ = until_given_up;
    if (is_shared_) options_.host = host_options(/*fetch_ahead=*/!random().one_in(3));
    std::optional<SnowflakeGenerator> generator;
    const auto make = [&] { generator.emplace(store_options(), options_); };
    if (!judged(3 * unit() + soon(), 3, make)) {
      follow_hint();
      return;
    }
    for (std::int64_t acts = random().spread(4, 40); acts > 0 && !is_over(); --acts) {
      act(*generator);
      if (refused_ && !follow_hint()) return;
      think();
    }
  }

 private:
  Host& host() const { return place_.host; }
  ClockWatch& clocks() const { return place_.tally.clocks; }
  Time unit() const { return time_of(scenario().layout.unit()); }

  void act(SnowflakeGenerator& generator) {
    switch (random().below(scenario().may(Fault::clock) ? 12 : 5)) {
      case 0:
        if (scenario().may(Fault::outage)) go_without_store(random().spread(100 * millisecond, 20 * second));
        return;
      case 1:
        return sleep(random().spread(millisecond, std::min(time_of(scenario().window), 2 * minute)));
      case 2:
        if (is_shared_) require_none_ahead();
        return;
      case 5:
      case 6:
        return set_clock(some_offset());
      case 7:
        return be_far_ahead(generator);
      case 8:
        return be_far_ahead_for_a_moment(generator);
      case 9:
      case 10:
        Scheduler::the().at(now() + random().spread(microsecond, std::max(unit(), 4 * millisecond)),
                            [place = place_, offset = some_offset()] {
                              if (!place.tally.is_over) set_clock(place, offset);
                            });
        return draw(generator);
      default:
        return draw(generator);
    }
  }

  /// Mostly so that IDs go on.
  Time some_offset() const {
    const Time lowest = clocks().reached - time_of(scenario().max_backward) + 2 * unit() - now();
    const Time offset = random().between(-most_wrong, most_wrong);
    return random().one_in(8) ? offset : std::clamp(lowest, offset, most_wrong);
  }
  void set_clock(Time offset) const { set_clock(place_, offset); }
  static void set_clock(const Place& place, Time offset) {
    Host& host = place.host;
    ClockWatch& clocks = place.tally.clocks;
    if (!is_far(host.clock_offset)) clocks.reached = std::max(clocks.reached, host.clock());
    host.clock_offset = offset;
    host.furthest_ahead = std::max(host.furthest_ahead, offset);
    ++host.clock_sets;
    host.clock_set_at = now();
    if (place.scenario.is_store_here) {
      Server::the().clock_offset = offset;
      clocks.is_spoiled = clocks.is_spoiled || is_far(offset);
    }
    clocks.was_far = clocks.was_far || is_far(offset);
    clocks.most_behind = std::max(clocks.most_behind, clocks.reached - host.clock());
    place.log.note("clock", 0, host.number, offset);
  }
  static bool is_far(Time offset) { return std::abs(offset) > most_wrong; }
  /// Past all windows.
  Time some_far_offset() const {
    return 3 * time_of(scenario().window) + random().spread(minute, 400 * 24 * 60 * minute);
  }

  void go_without_store(Time duration) const {
    place_.log.note("outage", 0, duration);
    Server::the().is_unreachable = random().one_in(2);
    Server::the().go_down(duration);
    clocks().store_back_at = now() + duration;
  }

  /// What is drawn there comes after what is drawn later, once the worker was released.
  void be_far_ahead(SnowflakeGenerator& generator) {
    const Time before = host().clock_offset;
    if (scenario().may(Fault::outage) && random().one_in(2))
      go_without_store(random().spread(millisecond, second));
    set_clock(some_far_offset());
    std::int64_t most = random().one_in(2) ? random().between(1, 4) : most_used_up;
    do draw_one(generator);
    while (!refused_ && --most > 0 && !is_over() && is_shared_ && left_in_buffer() > 0);
    refused_.reset();
    if (!is_over()) set_clock(before);
  }
  std::uint64_t left_in_buffer() const {
    for (const auto& [path, folder] : host().folders) {
      for (const auto& [name, file] : folder->entries) {
        if (name.starts_with("worker-") && file->size >= sizeof(host::SharedState))
          return range::left_in(reinterpret_cast<const host::SharedState*>(file->memory)->buffer);
      }
    }
    return 0;
  }
  void be_far_ahead_for_a_moment(SnowflakeGenerator& generator) {
    const Time before = host().clock_offset;
    set_clock(some_far_offset());
    Scheduler::the().at(now() + random().spread(10 * microsecond, 20 * millisecond),
                        [place = place_, before] {
                          if (!place.tally.is_over) set_clock(place, before);
                        });
    draw_one(generator);
    while (is_far(host().clock_offset) && !is_over()) sleep(millisecond);
    refused_.reset();
  }

  /// A clock that was never set is right.
  void require_none_ahead() const {
    if (host().clock_sets > 0) return;
    HostClock clock;
    try {
      Store store(store_options());
      const int given_up = drop_host_windows_ahead(store.identity(), *options_.host, options_.worker.owner,
                                                   {}, options_.max_backward, milliseconds(5000), clock);
      if (host().clock_sets > 0) return start_over();  // meanwhile
      if (given_up > 0) fail("gives up a window as if a wrong clock had had it leased");
    } catch (const Error& error) {
      place_.log.say("drop", process_.number, error.what());
    }
  }

  /// At the clock's time.
  void start_over() const {
    Ledger::Order& order = place_.tally.orders[{host().number, owner_of(host())}];
    order = {.life = order.life + 1};
    clocks().is_spoiled = false;
  }

  void draw(SnowflakeGenerator& generator) {
    if (random().one_in(3)) return draw_many(generator);
    for (std::int64_t count = random().spread(1, 40); count > 0 && !refused_ && !is_over(); --count)
      draw_one(generator);
  }
  void draw_one(SnowflakeGenerator& generator) {
    const Ledger::Call begun = begin();
    std::int64_t id = 0;
    const bool has_long_windows = scenario().window >= std::chrono::minutes(10);
    // And where the clock is set back within the unit, for what it was set back by.
    const Time most = (has_long_windows ? 2 : 3) * unit() + soon();
    if (judged(most, 2, [&] { id = generator.next(); })) note(begun, id);
  }
  void draw_many(SnowflakeGenerator& generator) {
    const Ledger::Call begun = begin();
    std::vector<std::int64_t> ids(static_cast<std::size_t>(random().spread(1, 40)));
    const auto units = std::ssize(ids) / (scenario().layout.max_sequence() + 1) + 5;
    if (!judged(units * unit() + soon(), most_waits, [&] { generator.next(ids); })) {
      clocks().reached += units * unit();  // by what is lost
      return;
    }
    // Of another buffer than the first ones all are made anew.
    for (const std::int64_t id : ids) note(begun, id, units);
  }

  /// A clock may be set past several windows, which are leased one after the other.
  Time soon() const {
    const auto windows = 2 * most_wrong / time_of(scenario().window);
    return (1 + std::min<Time>(windows, 4)) * prompt();
  }

  Ledger::Call begin() {
    Ledger::Order& order = is_shared_ ? place_.tally.orders[{host().number, owner_of(host())}] : own_order_;
    return Ledger::begin(&order);
  }
  void note(const Ledger::Call& by, std::int64_t id, std::int64_t units = 1) {
    const Layout& layout = scenario().layout;
    const Time time = Time{layout.time_of(id).time_since_epoch().count()} * millisecond;
    place_.log.note("snowflake", process_.number, id, id + 1);
    place_.ledger.drawn(by, Ledger::snowflakes, {id, id + 1}, host().number,
                        is_shared_ ? 0 : process_.number);
    if (clocks().was_far || clocks().is_spoiled) return;
    const Time newest = std::max(clocks().reached, host().clock());
    if (is_promised_ && time > newest + units * unit())
      fail(fmt::format("has an ID that is {} ms ahead of its clock, and of all before",
                       (time - newest) / millisecond));
    clocks().reached = std::max(clocks().reached, time);
  }

  /// Does `work()`, one call that may wait so often. Where the clock was good all the time, and the store
  /// there, it succeeds within `most`.
  template <typename Work>
  bool judged(Time most, int waits, Work work) {
    ClockWatch& watch = clocks();
    watch.was_far = is_far(host().clock_offset);
    watch.most_behind = watch.reached - host().clock();
    const Time begun = now(), kept_waiting = process_.kept_waiting;
    refused_.reset();
    const auto tried = [&] {
      try {
        work();
      } catch (const Error& error) {
        refused_ = error;
        throw;
      }
    };
    const bool is_made = call({}, options_.timeout, tried, /*is_patient=*/false, waits);
    const Time waited = now() - begun - (process_.kept_waiting - kept_waiting);
    is_promised_ = !is_over() && !watch.was_far && !watch.is_spoiled && is_store_there(begun) &&
                   (watch.most_behind <= 0 ||
                    watch.most_behind + 2 * unit() + millisecond <= time_of(scenario().max_backward));
    if (!is_promised_) return is_made;
    if (!is_made) fail(fmt::format("made no ID, though nothing kept it from that: {}", refused_->what()));
    if (waited > most)
      fail(fmt::format("waited for {} ms, where {} are the most", waited / millisecond, most / millisecond));
    return is_made;
  }
  /// And nobody waits for the end of a pause.
  bool is_store_there(Time begun) const {
    constexpr Time pause = longest_pause + claim_lasts + 300 * millisecond;
    const Time back_at = clocks().store_back_at;
    if (begun < back_at + pause) return false;
    return begun >= back_at + pauses_last || host().clock_set_at + pause <= begun;
  }

  /// False if this program cannot go on.
  bool follow_hint() {
    const Error error = *std::exchange(refused_, std::nullopt);
    if (is_over() || is_far(host().clock_offset)) return false;
    const bool helps = std::ranges::any_of(
        error.remedies(), [](const Remedy& remedy) { return remedy.kind == Remedy::Kind::release_workers; });
    if (!helps) return true;
    HostClock clock;
    try {
      Store store(store_options());
      store.release_workers(options_.worker.owner);
      if (is_shared_)
        drop_host_windows_ahead(store.identity(), *options_.host, options_.worker.owner, {},
                                options_.max_backward, milliseconds(5000), clock);
      start_over();
    } catch (const Error& met) {
      place_.log.say("remedy", process_.number, met.what());
    }
    return is_shared_;
  }

  SnowflakeOptions options_;
  Ledger::Order own_order_{};
  std::optional<Error> refused_{};  ///< what the last call threw
  bool is_promised_ = false;        ///< that the last call succeeded
};

}  // namespace

/// Mostly windows are short, so that calls need the store.
void Scenario::keep_to_clocks(Random& random) {
  constexpr std::array layouts{"leaf", "time:41,worker:10,sequence:4", "time:41,worker:10,sequence:4",
                               "time:38,worker:10,sequence:4/50ms@1700000000000",
                               "time:40,worker:10,sequence:4/2s@1700000000000"};
  constexpr std::array windows{1'000, 1'000, 1'000, 2'000, 10'000, 60'000, 600'000, 86'400'000};
  constexpr std::array backward{0, 100, 2'000, 5'000, 10'000};
  faults &= only({Fault::clock, Fault::outage});
  if (random.one_in(8)) faults &= ~only({Fault::clock});
  hosts = tags = slots = 1;
  takes_time = false;
  network = {};
  is_brisk = true;
  calls = random.between(100, 400);
  longest = random.between(minute, 10 * minute);
  if (random.one_in(4)) slowness = random.spread(millisecond, 30 * millisecond);
  layout = Layout::parse(layouts[static_cast<std::size_t>(random.below(layouts.size()))]);
  window = milliseconds(windows[static_cast<std::size_t>(random.below(windows.size()))]);
  window = std::max(window, 4 * layout.unit());
  max_backward = milliseconds(backward[static_cast<std::size_t>(random.below(backward.size()))]);
  recycle_after = std::chrono::hours(1);
  is_of_host = random.one_in(2);
  is_store_here = random.one_in(3);
  kinds = {ActorKind::clock_users};
}

void run_clock_user(const Place& place, Process& process) {
  ClockUser(place, process).run();
}

}  // namespace leaf::simulation
