#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "leaf/layout.hpp"
#include "simulation/history.hpp"
#include "simulation/random.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace leaf::simulation {

/// The programs that draw.
enum class ActorKind : std::uint8_t {
  host_segments,      ///< long-lived, from the host's buffer
  short_segments,     ///< as `leafctl next`: one call from the host's buffer, and a child that fetches
  own_segments,       ///< from ranges in its own memory
  direct,             ///< from the store
  host_snowflakes,    ///< long-lived, from the host's windows
  short_snowflakes,   ///< as `leafctl next --snowflake`
  own_snowflakes,     ///< from windows of its own, given up at the end
  pinned_snowflakes,  ///< from the host's windows of a worker that is asked for by number
  marks,              ///< no IDs: what copies of a store grant beside each other
  successors,         ///< snowflakes, from one generator with its own windows after another
  memory_segments,    ///< from the host's buffer, without threads of the library's
  // Of several threads: see run_threads().
  own_segment_threads,
  host_segment_threads,
  own_window_threads,
  host_window_threads,
  clock_users,      ///< snowflakes, by a clock that they set
  outage_users,     ///< segments, of a store that they have go away
  window_holders,   ///< snowflakes, while who fetches is stopped
  segment_holders,  ///< segments, while who fetches is stopped, or the store silent
};

/// What chance makes of a plan.
struct Scenario {
  Scenario(Random& random, const Plan& plan);

  bool may(Fault fault) const { return (faults >> static_cast<unsigned>(fault) & 1) != 0; }
  bool is_slow() const { return slowness > 20 * millisecond; }
  /// None is ever scarce.
  bool has_many_workers() const { return layout.max_worker() >= 1000; }
  /// Few programs meet in few files.
  bool is_small() const {
    return subject == Subject::stragglers || subject == Subject::turns || subject == Subject::takings ||
           subject == Subject::layouts || subject == Subject::handovers || subject == Subject::latecomers;
  }
  bool has_places() const { return one_place_of > 0; }
  bool has_stragglers() const { return moments_per_straggler > 0; }
  /// By programs of several threads: see run_threads().
  bool is_watched() const {
    return subject == Subject::threads || subject == Subject::solos || subject == Subject::crowds ||
           subject == Subject::moves || subject == Subject::clocks || subject == Subject::outages ||
           subject == Subject::holders || subject == Subject::demands;
  }
  bool is_about_damages() const { return subject == Subject::damages || subject == Subject::rewinds; }
  bool is_about_names() const { return subject == Subject::names || subject == Subject::turns; }
  std::chrono::milliseconds longest_unit() const {
    return other_layout ? std::max(layout.unit(), other_layout->unit()) : layout.unit();
  }
  /// Of one of the two stores.
  const Layout& layout_of(int store) const { return store != 0 && other_layout ? *other_layout : layout; }
  /// How long whoever asks for IDs waits for some at most, once all faults have ended.
  Time patience() const;

  Subject subject;
  std::uint32_t faults;
  int hosts;
  int slots;
  int tags;
  std::int64_t calls;
  std::int64_t longest_run;
  Time longest;
  std::vector<ActorKind> kinds;
  Layout layout;
  std::optional<Layout> other_layout{};  ///< of the other store
  std::int64_t guard_steps;
  std::int64_t max_step;
  std::chrono::milliseconds window;
  std::chrono::milliseconds recycle_after;
  NetworkFaults network;
  std::int64_t switches_per_fault;  ///< on average
  std::int64_t most_faults;
  std::optional<std::int64_t> step;        ///< of all tags
  bool draws_singly;                       ///< one ID a call
  bool draws_no_batches;                   ///< who lives long takes its IDs one by one
  bool has_another_store;                  ///< which the store's name may lead to
  bool takes_time;                         ///< programs draw for minutes, so that names are checked meanwhile
  std::int64_t moments_per_straggler = 0;  ///< on average; 0: there is none
  Stragglers stragglers = Stragglers::all;
  bool has_far_clocks = false;    ///< by hours
  bool is_owner_a_tag = false;    ///< a tag has the name of an owner of workers
  bool is_busy = false;           ///< all programs have several threads, which draw all the time
  bool is_brisk = false;          ///< whoever can run does so soon, so that others' calls can be timed
  Time slowness = 0;              ///< of the store
  bool is_pinned = false;         ///< all ask for one worker by its number
  bool turns_each_time = false;   ///< the store's name, once somebody has been granted something
  bool moves_once = false;        ///< the store's name, for good
  bool lasts = false;             ///< each program draws until the end
  bool is_of_host = false;        ///< all draw from the host's buffers
  bool is_store_here = false;     ///< its clock is that of the host
  bool are_files_old = false;     ///< nearly all generations of their buffers are over
  std::int64_t one_place_of = 0;  ///< of the code, at which whoever comes there is held up; 0: there is none
  std::chrono::milliseconds max_backward = std::chrono::seconds(2);

 private:
  void keep_to(Model model);
  void keep_to(Subject about, Random& random);
  void keep_to_two_stores();
  void keep_to_stragglers(Random& random, std::uint32_t more_faults = 0);
  void keep_to_wrong_clocks(Random& random);
  void keep_to_turns(Random& random);
  void keep_to_few_questions(Random& random);
  void keep_to_takings(Random& random);
  void keep_to_handovers(Random& random);
  void keep_to_rewinds(Random& random);
  void keep_to_layouts(Random& random);
  void keep_to_units(Random& random);
  void keep_to_lasting_units();
  void keep_to_setbacks(Random& random);
  void keep_to_away(Random& random);
  void keep_to_threads(Random& random);
  void keep_to_window_threads(Random& random);
  void keep_to_solos(Random& random);
  void keep_to_crowds(Random& random);
  void keep_to_moves(Random& random);
  void keep_to_clocks(Random& random);
  void keep_to_outages(Random& random);
  void keep_to_holders(Random& random);
  void keep_to_places(Random& random);
  void keep_to_demands(Random& random);
  void keep_to_latecomers(Random& random);
};

}  // namespace leaf::simulation
