// Histories of few programs that meet in few files: who is in the midst of a change stops there, and others
// go on, or somebody dies there.

#include <algorithm>
#include <array>
#include <chrono>

#include "simulation/faults.hpp"

namespace leaf::simulation {

void Scenario::keep_to_stragglers(Random& random, std::uint32_t more_faults) {
  faults &= more_faults | only({Fault::kill, Fault::stop, Fault::clock, Fault::store_clock, Fault::recycle,
                                Fault::change, Fault::network});
  const bool is_of_tags = random.one_in(2);
  if (!is_of_tags || !random.one_in(3)) faults &= ~only({Fault::change});
  if (!random.one_in(4)) network = {};
  moments_per_straggler = random.spread(10, 1000);
  stragglers = random.one_in(2) ? Stragglers::holders : Stragglers::all;
  hosts = is_of_tags && may(Fault::change) ? std::min(hosts, 2) : 1;
  if (hosts > 1) switches_per_fault = std::min<std::int64_t>(switches_per_fault, 60);
  tags = 1;
  is_busy = random.one_in(subject == Subject::turns ? 4 : 8);
  slots = std::min(slots, is_busy ? 2 : 4);
  calls *= 2;
  const bool are_all_long = is_busy || random.one_in(4);
  for (ActorKind& kind : kinds) {
    const bool is_long = are_all_long || random.one_in(2);
    kind = is_of_tags ? (is_long ? ActorKind::host_segments : ActorKind::short_segments)
                      : (is_long ? ActorKind::host_snowflakes : ActorKind::short_snowflakes);
  }
  step = random.one_in(2) ? random.between(1, 4) : random.spread(1, 60);
  max_step = random.between(*step, *step + 3);
  window = std::chrono::milliseconds(random.spread(20, random.one_in(4) ? 600'000 : 10'000));
  recycle_after = std::chrono::milliseconds(random.spread(100, 2000));
  if (is_of_tags) return;
  keep_to_wrong_clocks(random);
  if (random.one_in(8)) std::ranges::fill(kinds, ActorKind::successors);
}

/// Mostly they are set by little, again and again.
void Scenario::keep_to_wrong_clocks(Random& random) {
  has_far_clocks = random.one_in(8);
  if (random.one_in(4)) return;
  faults &= ~only({Fault::store_clock, Fault::recycle});
  switches_per_fault = random.spread(8, 200);
  most_faults = 200;
}

void Scenario::keep_to_turns(Random& random) {
  takes_time = random.one_in(8);
  const bool is_asked_rarely = takes_time;
  keep_to_stragglers(random, only({Fault::repoint}));
  has_another_store = true;
  takes_time = is_asked_rarely;
  if (takes_time) return keep_to_few_questions(random);
  if (random.one_in(2)) return;
  constexpr std::array alone{ActorKind::own_segments, ActorKind::own_snowflakes, ActorKind::own_snowflakes,
                             ActorKind::successors};
  std::ranges::fill(kinds, alone[static_cast<std::size_t>(random.below(alone.size()))]);
}

/// One program after the other starts, and needs nothing of the store for long.
void Scenario::keep_to_few_questions(Random& random) {
  faults &= only({Fault::repoint, Fault::clock});
  moments_per_straggler = 0;
  std::ranges::fill(kinds, ActorKind::short_segments);
  slots = 1;
  step = 1'000'000;
  switches_per_fault = random.spread(100, 1000);
}

/// What takes several things to happen in between comes about more often so than by chance.
void Scenario::keep_to_places(Random& random) {
  one_place_of = random.spread(4, 200);
  if (has_stragglers() && !random.one_in(4)) moments_per_straggler = 10'000;
  is_brisk = is_brisk && random.one_in(2);
  turns_each_time = has_another_store && !is_watched() && random.one_in(8);
}

Time Faults::hold_up(Process& process) {
  if (have_ended_) return 0;
  if (scenario_.is_brisk) return random_.spread(microsecond, millisecond);
  const Time duration = random_.spread(100 * microsecond, 3 * second);
  if (!scenario_.is_small() || (process.threads > 1 && random_.one_in(2))) return duration;
  if (scenario_.may(Fault::kill) && random_.one_in(8)) {
    ++counts_[static_cast<std::size_t>(Fault::kill)];
    log_.note("kill", process.number);
    server_.note_disturbance();
    kill(process);
    return 0;
  }
  if (!scenario_.may(Fault::stop) || random_.one_in(2)) return duration;
  ++counts_[static_cast<std::size_t>(Fault::stop)];
  stop_for_calls(process);
  return 0;
}

Time Faults::stop_straggler(Process& process) {
  if (have_ended_) return 0;
  if (scenario_.subject == Subject::handovers && plan_.may(Fault::stop) && !random_.one_in(16)) {
    ++counts_[static_cast<std::size_t>(Fault::stop)];
    hand_over(process);
    return 0;
  }
  if (scenario_.kinds.front() >= ActorKind::host_snowflakes && scenario_.may(Fault::clock) &&
      random_.one_in(3)) {
    ++counts_[static_cast<std::size_t>(Fault::clock)];
    set_clock();
  }
  const Time duration = random_.spread(millisecond, random_.one_in(2) ? 5 * second : 400 * millisecond);
  if (process.threads > 1 && random_.one_in(2)) return duration;
  if (scenario_.may(Fault::kill) && random_.one_in(4)) {
    ++counts_[static_cast<std::size_t>(Fault::kill)];
    log_.note("kill", process.number);
    server_.note_disturbance();
    kill(process);
    return 0;
  }
  if (!scenario_.may(Fault::stop)) return 0;
  ++counts_[static_cast<std::size_t>(Fault::stop)];
  if (random_.one_in(2)) {
    stop(process, duration);
    return 0;
  }
  stop_for_calls(process);
  return 0;
}

/// Whoever holds a file stands still until another one is about to take it, and goes on while that one is
/// held up over it in turn.
void Faults::hand_over(Process& process) {
  const bool is_taker = process.folders > 0;
  // Others have to get on meanwhile.
  if (!is_taker && !stragglers_.empty() && !random_.one_in(8)) return;
  if (is_taker && random_.one_in(2)) {
    for (const Straggler& one : stragglers_) one.process->stopped_until = 0;
    stragglers_.clear();
  }
  const std::int64_t calls = is_taker ? random_.between(1, 6) : random_.spread(2, 40);
  stop(process, 5 * second);
  stragglers_.push_back({&process, tally_.calls + static_cast<std::uint64_t>(calls)});
}

/// Until others have made some.
void Faults::stop_for_calls(Process& process) {
  stop(process, minute);
  stragglers_.push_back({&process, tally_.calls + static_cast<std::uint64_t>(random_.between(1, 6))});
}

void Faults::wake_stragglers() {
  std::erase_if(stragglers_, [this](const Straggler& one) {
    if (tally_.calls < one.until_calls) return false;
    one.process->stopped_until = 0;
    return true;
  });
}

}  // namespace leaf::simulation
