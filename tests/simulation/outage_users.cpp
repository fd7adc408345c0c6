// Programs that draw IDs of a tag while they have the store go away, again and again, and clocks set: it is
// known what is buffered then, so it can be told how soon IDs come again, and what a call that fails costs.

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "leaf/segment.hpp"
#include "simulation/threads.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

class OutageUser final : WatchedProgram {
 public:
  OutageUser(const Place& place, Process& process) : WatchedProgram(place, process) {}

  void run() {
    is_shared_ = scenario().is_of_host;
    constexpr std::array timeouts{50, 200, 1000, 5000, 5000, 5000};
    options_.timeout = milliseconds(timeouts[static_cast<std::size_t>(random().below(std::ssize(timeouts)))]);
    options_.max_step = options_.max_starved_step.emplace(scenario().max_step);
    if (is_shared_) options_.host = host_options(/*fetch_ahead=*/true);
    note_timeout(options_.timeout);
    SegmentAllocator allocator(store_options(), options_);
    SegmentTag tag;
    // Where the store's name leads is looked at no longer than a call may take.
    const auto open = [&] { tag = allocator.tag(TagName(name())); };
    if (!call({}, options_.timeout, open, /*is_patient=*/false)) return;
    for (std::int64_t acts = random().spread(4, 40); acts > 0 && !is_over(); --acts) act(tag);
  }

 private:
  const std::string& name() const { return Server::the().tag_names.front(); }
  OutageWatch& outages() const { return place_.tally.outages; }

  void act(SegmentTag& tag) {
    switch (random().below(8)) {
      case 0:
        if (scenario().may(Fault::outage)) go_without_store();
        return;
      case 1:
        return sleep(random().spread(millisecond, random().one_in(8) ? 100 * second : 10 * second));
      case 2:
        if (scenario().may(Fault::clock) && is_shared_) set_clock();
        return;
      case 3:
        return draw_up_to_the_end(tag);
      case 4:
        return draw_many(tag);
      default:
        return draw(tag, random().spread(1, 40));
    }
  }

  /// Pauses grow from one failure to the next, until something is granted.
  void go_without_store() const {
    Server& server = Server::the();
    OutageWatch& watch = outages();
    if (now() < watch.back_at) return;
    const bool is_another = server.commits() > watch.commits && now() > watch.back_at + second;
    if (is_another) watch.pause = 0;
    const Time duration = random().spread(20 * millisecond, 20 * second);
    watch.back_at = now() + duration;
    watch.commits = server.commits();
    watch.pause = std::min(longest_pause, watch.pause + duration * 4 / 3 + 100 * millisecond);
    if (random().one_in(4)) return be_silent(duration);
    place_.log.note("outage", 0, duration);
    server.is_unreachable = true;
    server.go_down(duration);
  }
  /// One attempt may take all the time.
  void be_silent(Time duration) const {
    OutageWatch& watch = outages();
    watch.back_at = now() + duration;
    watch.pause = longest_pause;
    watch.was_silent = true;
    place_.log.note("silence", 0, duration);
    Server::the().fall_silent(duration);
  }
  /// For IDs of tags it does not matter which time it shows.
  void set_clock() const {
    constexpr Time furthest = 50 * second;
    Host& host = place_.host;
    host.clock_offset = random().between(-furthest, furthest);
    ++host.clock_sets;
    host.clock_set_at = now();
    place_.log.note("clock", 0, host.number, host.clock_offset);
  }

  void draw(SegmentTag& tag, std::int64_t count) {
    for (; count > 0 && !is_over(); --count) {
      const Ledger::Call begun = begin();
      std::int64_t id = 0;
      if (!judged([&] { id = tag.next(); })) return;
      note(begun, {id, id + 1});
    }
  }
  /// What was fetched ahead has not been begun then.
  void draw_up_to_the_end(SegmentTag& tag) {
    while (!is_over()) {
      const Ledger::Call begun = begin();
      const Range ids = tag.try_next_range(static_cast<std::uint64_t>(*scenario().step));
      if (ids.empty()) break;
      note(begun, ids);
      if (random().one_in(2)) break;
    }
  }
  /// More than a segment has, where it is alone. A call that fails loses nothing, unless the file is taken
  /// from who waits for a silent store.
  void draw_many(SegmentTag& tag) {
    const auto buffered = static_cast<std::int64_t>(tag.buffered());
    const std::int64_t step = *scenario().step;
    const std::int64_t count = buffered + random().between(1, step);
    const Ledger::Call begun = begin();
    std::vector<Range> ranges;
    const bool is_drawn = call(
        name(), options_.timeout, [&] { ranges = tag.next_ranges(static_cast<std::uint64_t>(count)); },
        /*is_patient=*/false, most_waits);
    for (const Range ids : ranges) note(begun, ids);
    const auto left = static_cast<std::int64_t>(tag.buffered());
    if (!is_drawn && left < buffered && (is_shared_ ? !outages().was_silent : buffered <= step))
      fail(fmt::format("lost {} IDs to a call that failed", buffered - left));
  }

  Ledger::Call begin() {
    return Ledger::begin(is_shared_ ? &place_.tally.orders[{place_.host.number, name()}] : &own_order_);
  }
  void note(const Ledger::Call& by, Range ids) {
    place_.log.note(name(), process_.number, ids.lo, ids.hi);
    place_.ledger.drawn(by, 0, ids, place_.host.number, is_shared_ ? 0 : process_.number);
  }

  /// Does `work()`, one call that waits once: until the pause has ended that follows the last failure.
  template <typename Work>
  bool judged(Work work) {
    const Time begun = now(), kept_waiting = process_.kept_waiting;
    const bool is_made = call({}, options_.timeout, work);
    const Time waited = now() - begun - (process_.kept_waiting - kept_waiting);
    if (is_over()) return is_made;
    const Time ready_at = std::max(begun, served_again_at()), most = ready_at - begun + prompt();
    if (waited > most || (!is_made && time_of(options_.timeout) > most))
      fail(fmt::format("waited for {} ms, where {} are the most: {}", waited / millisecond,
                       most / millisecond, is_made ? "an ID came" : place_.tally.last_error));
    return is_made;
  }
  Time served_again_at() const {
    const OutageWatch& watch = outages();
    if (watch.back_at == 0) return 0;
    if (!is_shared_) return watch.back_at + watch.pause;
    return std::max(watch.back_at, place_.host.clock_set_at) + longest_pause + claim_lasts;
  }
  static Time time_of(milliseconds duration) { return Time{duration.count()} * millisecond; }

  SegmentOptions options_;
  Ledger::Order own_order_{};
};

}  // namespace

void Scenario::keep_to_outages(Random& random) {
  faults &= only({Fault::outage, Fault::clock});
  hosts = tags = slots = 1;
  takes_time = false;
  network = {};
  is_brisk = true;
  calls = random.between(100, 400);
  longest = random.between(minute, 5 * minute);
  if (random.one_in(4)) slowness = random.spread(millisecond, 20 * millisecond);
  step = max_step = random.spread(4, 20);
  is_of_host = random.one_in(2);
  kinds = {ActorKind::outage_users};
}

void run_outage_user(const Place& place, Process& process) {
  OutageUser(place, process).run();
}

}  // namespace leaf::simulation
