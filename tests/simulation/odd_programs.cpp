// Histories of programs whose store, layout or options are not the usual ones, and of those who take a file
// from somebody who has stopped.

#include <algorithm>
#include <array>
#include <chrono>

#include "simulation/actors.hpp"

namespace leaf::simulation {

namespace {

using std::chrono::milliseconds;

/// Their times, sequences and workers lie elsewhere in an ID.
constexpr std::array other_layouts{"time:41,worker:12,sequence:10",
                                   "time:39,sequence:8,machine:16/10ms@1409529600000",
                                   "time:40,sequence:12,worker:11", "time:35,worker:10,sequence:6/2s"};

/// What the cursor of a unit that lasts loses comes again.
constexpr const char* lasting_layout = "time:25,sequence:16,worker:10/1m";
constexpr std::array coarse_layouts{"time:33,sequence:6,worker:10/5s", "time:33,worker:10,sequence:4/2s",
                                    "time:31,sequence:8,worker:10/10s", "time:33,worker:10,sequence:3/1s"};
/// A buffer holds 1024 of its units.
constexpr const char* long_layout = "time:31,worker:10,sequence:22@1799000000000";

}  // namespace

void Scenario::keep_to_takings(Random& random) {
  keep_to_stragglers(random, only({Fault::repoint, Fault::remove_folder}));
  stragglers = Stragglers::takers;
  moments_per_straggler = random.spread(1, 40);
  has_far_clocks = has_far_clocks || random.one_in(8);
  has_another_store = random.one_in(4);
  if (has_another_store || !random.one_in(4)) faults &= ~only({Fault::remove_folder});
  switches_per_fault = random.spread(8, 100);
  most_faults = 200;
  slowness = random.one_in(2) ? 0 : random.spread(millisecond, 100 * millisecond);
}

void Scenario::keep_to_handovers(Random& random) {
  keep_to_stragglers(random, only({Fault::repoint}));
  const bool is_of_tags =
      kinds.front() == ActorKind::host_segments || kinds.front() == ActorKind::short_segments;
  faults &= only({Fault::change, Fault::clock, Fault::repoint, Fault::network});
  stragglers = Stragglers::both;
  moments_per_straggler = random.spread(1, 20);
  has_another_store = random.one_in(4);
  is_busy = random.one_in(2);
  slots = static_cast<int>(random.between(3, 5));
  calls *= 3;
  for (ActorKind& kind : kinds) {
    if (!random.one_in(4)) kind = is_of_tags ? ActorKind::host_segments : ActorKind::host_snowflakes;
  }
  switches_per_fault = random.spread(20, 200);
}

void Scenario::keep_to_latecomers(Random& random) {
  keep_to_stragglers(random, only({Fault::repoint}));
  faults &= only({Fault::change, Fault::stop, Fault::kill, Fault::repoint, Fault::network});
  if (random.one_in(2)) faults |= only({Fault::change});
  stragglers = Stragglers::holders_of_two;
  moments_per_straggler = random.spread(1, 30);
  has_another_store = true;
  hosts = 1;
  slots = static_cast<int>(random.between(3, 5));
  calls *= 2;
  for (ActorKind& kind : kinds)
    kind = random.one_in(4) ? ActorKind::short_segments : ActorKind::host_segments;
  switches_per_fault = random.spread(20, 400);
}

/// What is drawn is not noted by the drawing itself, and long enough lies in one range for that to count.
void Scenario::keep_to_rewinds(Random& random) {
  faults &= only({Fault::damage});
  hosts = tags = 1;
  network = {};
  takes_time = true;
  longest = random.between(20 * second, 60 * second);
  calls = 150;
  switches_per_fault = random.spread(8, 200);
  most_faults = 40;
  if (random.one_in(2)) {
    draws_no_batches = true;
    kinds = {ActorKind::host_segments};
    step = max_step = random.spread(200, 2000);
    return;
  }
  for (ActorKind& kind : kinds)
    kind = random.one_in(2) ? ActorKind::host_snowflakes : ActorKind::short_snowflakes;
  longest += 2 * minute;  // the first unit that is used begins within one
  calls *= 4;
  keep_to_lasting_units();
}

void Scenario::keep_to_layouts(Random& random) {
  keep_to_stragglers(random, only({Fault::repoint}));
  faults &= ~only({Fault::change, Fault::recycle});
  has_another_store = true;
  has_far_clocks = false;
  layout = Layout::parse("leaf");
  other_layout = Layout::parse(other_layouts[static_cast<std::size_t>(random.below(other_layouts.size()))]);
  if (random.one_in(2)) std::swap(layout, *other_layout);
  constexpr std::array of_snowflakes{ActorKind::own_snowflakes, ActorKind::own_snowflakes,
                                     ActorKind::host_snowflakes, ActorKind::short_snowflakes};
  for (ActorKind& kind : kinds)
    kind = of_snowflakes[static_cast<std::size_t>(random.below(of_snowflakes.size()))];
}

void Scenario::keep_to_units(Random& random) {
  faults &=
      only({Fault::clock, Fault::recycle, Fault::kill, Fault::stop, Fault::still_clock, Fault::network});
  if (!random.one_in(4)) network = {};
  hosts = std::min(hosts, 2);
  tags = 1;
  takes_time = false;
  is_owner_a_tag = random.one_in(2);
  has_far_clocks = random.one_in(4);
  max_backward = milliseconds(random.one_in(2) ? 2'000 : 10'000);
  constexpr std::array of_units{ActorKind::host_snowflakes, ActorKind::host_snowflakes,
                                ActorKind::short_snowflakes, ActorKind::own_snowflakes,
                                ActorKind::host_segments};
  for (ActorKind& kind : kinds) kind = of_units[static_cast<std::size_t>(random.below(of_units.size()))];
  if (random.one_in(8)) {
    layout = Layout::parse(long_layout);
    window = 1024 * milliseconds(random.spread(1, 64));
    return;
  }
  layout = Layout::parse(coarse_layouts[static_cast<std::size_t>(random.below(coarse_layouts.size()))]);
  window = random.one_in(4) ? milliseconds(600'000) : random.between(2, 6) * layout.unit();
}

void Scenario::keep_to_lasting_units() {
  layout = Layout::parse(lasting_layout);
  window = milliseconds(600'000);
}

/// No file is taken from anybody, since nobody stops: what was drawn lies in the buffer that is there.
void Scenario::keep_to_setbacks(Random& random) {
  faults &= only({Fault::restore, Fault::kill});
  network = {};
  hosts = tags = 1;
  takes_time = false;
  draws_singly = true;
  calls *= 4;
  for (ActorKind& kind : kinds)
    kind = random.one_in(2) ? ActorKind::host_segments : ActorKind::short_segments;
  step = random.spread(1, 20);
}

void Scenario::keep_to_away(Random& random) {
  faults &= only({Fault::repoint, Fault::outage});
  hosts = tags = 1;
  has_another_store = takes_time = draws_no_batches = true;
  slots = std::min(slots, 2);
  const bool is_of_memory = random.one_in(4);
  if (is_of_memory) faults &= ~only({Fault::outage});
  std::ranges::fill(kinds, is_of_memory ? ActorKind::memory_segments : ActorKind::own_segments);
  step = is_of_memory ? 1'000'000 : random.spread(20, 100);
  max_step = *step;
  // A question about the name takes long enough that somebody runs out of IDs meanwhile.
  if (!is_of_memory && !random.one_in(4)) slowness = random.spread(10 * millisecond, 300 * millisecond);
  most_faults = 200;
}

}  // namespace leaf::simulation
