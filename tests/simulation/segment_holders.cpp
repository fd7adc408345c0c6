// Programs that share what a host has buffered of a tag, and want more at once than that, while who fetches
// is stopped, or the store silent, for long: others wait for as long as is said, and nothing is lost before.

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "leaf/segment.hpp"
#include "simulation/threads.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

class SegmentHolder final : WatchedProgram {
 public:
  SegmentHolder(const Place& place, Process& process) : WatchedProgram(place, process) { is_shared_ = true; }

  void run() {
    // Whoever stops keeps others waiting by its own.
    options_.timeout = milliseconds(scenario().may(Fault::silence) && random().one_in(2) ? 100'000 : 5'000);
    options_.max_step = options_.max_starved_step.emplace(scenario().max_step);
    options_.host = host_options(/*fetch_ahead=*/random().one_in(2));
    note_timeout(options_.timeout);
    SegmentAllocator allocator(store_options(), options_);
    SegmentTag tag;
    constexpr milliseconds to_look_where_the_name_leads{250};
    const auto open = [&] { tag = allocator.tag(TagName(name())); };
    if (!call({}, to_look_where_the_name_leads, open, /*is_patient=*/false)) return;
    const std::int64_t one_single = random().between(2, 6);  // of so many
    for (std::int64_t calls = random().spread(2, 20); calls > 0 && !is_over(); --calls) {
      if (random().one_in(one_single)) {
        draw(tag);
      } else {
        draw_many(tag);
      }
      sleep(random().spread(millisecond, random().one_in(4) ? 20 * second : second));
    }
  }

 private:
  const std::string& name() const { return Server::the().tag_names.front(); }

  void draw(SegmentTag& tag) {
    const Ledger::Call begun = begin();
    std::int64_t id = 0;
    if (call({}, options_.timeout, [&] { id = tag.next(); })) note(begun, {id, id + 1});
  }
  void draw_many(SegmentTag& tag) {
    const auto buffered = static_cast<std::int64_t>(tag.buffered());
    const std::int64_t count = buffered + random().between(1, *scenario().step);
    const Ledger::Call by = begin();
    const Time begun = now(), kept_waiting = process_.kept_waiting;
    const int times_stopped = process_.times_stopped;
    std::vector<Range> ranges;
    const bool is_drawn = call(
        {}, options_.timeout, [&] { ranges = tag.next_ranges(static_cast<std::uint64_t>(count)); },
        /*is_patient=*/false, most_waits);
    for (const Range ids : ranges) note(by, ids);
    // Whoever takes the file leaves behind what this call had of it already.
    if (now() - begun >= place_.tally.shortest_timeouts.at(place_.host.number) * 2 / 5)
      place_.tally.may_be_lost[0] += count;
    if (!is_drawn && process_.times_stopped == times_stopped && !is_over())
      require_no_longer_wait(begun + process_.kept_waiting - kept_waiting);
  }
  /// leafctl(1), HOST BUFFER: while IDs are left, others wait until a second after the timeout of who has
  /// stopped; and then as always.
  void require_no_longer_wait(Time begun) const {
    if (scenario().may(Fault::silence)) return;
    const Time given = Time{options_.timeout.count()} * millisecond, waits = given * 2 / 5;
    const Time served_from = std::max(begun, Server::the().disturbed_at() + longest_hold) + waits;
    if (served_from + 4 * prompt() < begun + given)
      fail(fmt::format("got too few IDs, though who has stopped may not keep them: {}",
                       place_.tally.last_error));
  }

  Ledger::Call begin() { return Ledger::begin(&place_.tally.orders[{place_.host.number, name()}]); }
  void note(const Ledger::Call& by, Range ids) {
    place_.log.note(name(), process_.number, ids.lo, ids.hi);
    place_.ledger.drawn(by, 0, ids, place_.host.number, 0);
  }

  SegmentOptions options_;
};

}  // namespace

void Scenario::keep_to_demands(Random& random) {
  faults &= random.one_in(2) ? only({Fault::stop}) : only({Fault::silence});
  hosts = tags = 1;
  slots = static_cast<int>(random.between(2, 3));
  takes_time = false;
  network = {};
  is_brisk = true;
  calls = random.between(20, 80);
  longest = random.between(2 * minute, 8 * minute);
  slowness = random.spread(millisecond, 10 * millisecond);
  step = max_step = random.spread(4, 20);
  switches_per_fault = random.spread(4, 100);
  most_faults = random.between(1, 12);
  kinds = {ActorKind::segment_holders};
}

void run_segment_holder(const Place& place, Process& process) {
  SegmentHolder(place, process).run();
}

}  // namespace leaf::simulation
