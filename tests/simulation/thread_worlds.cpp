// Histories of programs of several threads that are about one kind of coincidence each: see threads.cpp.

#include <array>
#include <chrono>

#include "simulation/actors.hpp"

namespace leaf::simulation {

/// Whoever is alone knows what is buffered, and what a call took.
void Scenario::keep_to_solos(Random& random) {
  constexpr std::array troubles{Fault::outage, Fault::silence, Fault::silence, Fault::row_lock,
                                Fault::change};
  faults &= only({troubles[static_cast<std::size_t>(random.below(troubles.size()))]});
  hosts = tags = 1;
  const bool is_shared = random.one_in(2);
  slots = is_shared ? static_cast<int>(random.between(1, 2)) : 1;
  calls = random.between(16, 60);
  longest = random.between(20 * second, random.one_in(4) ? 4 * minute : minute);
  network = {};
  is_brisk = true;
  if (random.one_in(4)) slowness = random.spread(millisecond, 50 * millisecond);
  step = max_step = random.spread(4, 20);
  kinds = {is_shared ? ActorKind::host_segment_threads : ActorKind::own_segment_threads};
  switches_per_fault = random.spread(8, 100);
  most_faults = random.between(1, 12);
}

/// Segments are short, so that all are fetching, or waiting for who is.
void Scenario::keep_to_crowds(Random& random) {
  faults &= random.one_in(2) ? only({Fault::silence}) : 0;
  hosts = tags = 1;
  slots = static_cast<int>(random.between(1, 3));
  calls = random.between(10, 60);
  longest = random.between(5 * second, 30 * second);
  network = {};
  is_brisk = true;
  longest_run = random.spread(64, 512);
  if (random.one_in(2)) slowness = random.spread(millisecond, 300 * millisecond);
  step = max_step = random.spread(1, 6);
  kinds = {random.one_in(2) ? ActorKind::own_segment_threads : ActorKind::host_segment_threads};
  most_faults = random.between(1, 4);
  are_files_old = random.one_in(4);
}

void Scenario::keep_to_moves(Random& random) {
  faults &= only({Fault::repoint});
  hosts = tags = 1;
  has_another_store = true;
  takes_time = false;
  network = {};
  is_brisk = true;
  slots = static_cast<int>(random.between(1, 3));
  calls = random.between(30, 120);
  longest = random.between(20 * second, minute);
  step = max_step = random.spread(2, 40);
  const std::int64_t kind = random.below(5);
  kinds = {kind < 2   ? ActorKind::host_segment_threads
           : kind < 4 ? ActorKind::own_segment_threads
                      : ActorKind::own_window_threads};
  moves_once = lasts = kind == 4 || random.one_in(4);
  if (lasts) {
    longest = random.between(minute, 2 * minute);
    slots = 1;
  }
  if (lasts && kind < 2 && random.one_in(2)) slowness = random.spread(100 * millisecond, 700 * millisecond);
  if (!lasts && random.one_in(2)) network = {.delay = random.between(4, 40), .longest_delay = 4 * second};
  constexpr std::array windows{4'000, 10'000, 10'000, 60'000};
  layout = Layout::parse("leaf");
  window = std::chrono::milliseconds(windows[static_cast<std::size_t>(random.below(windows.size()))]);
  recycle_after = std::chrono::milliseconds(3'600'000);
}

}  // namespace leaf::simulation
