#include "simulation/scenario.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace leaf::simulation {

namespace {

using std::chrono::milliseconds;

constexpr std::array layouts{"leaf",
                             "leaf",
                             "time:41,worker:3,sequence:12",
                             "time:39,worker:2,sequence:20",
                             "41,10,4",
                             "sonyflake",
                             "time:39,sequence:8,machine:16/10ms@1409529600000",
                             "41,1,12"};

/// In which few programs, or the threads of one, meet in few buffers.
constexpr std::array with_places{Subject::stragglers, Subject::stragglers, Subject::turns,   Subject::turns,
                                 Subject::takings,    Subject::takings,    Subject::layouts, Subject::names,
                                 Subject::names,      Subject::removals,   Subject::folders, Subject::threads,
                                 Subject::threads,    Subject::crowds,     Subject::moves};

Subject some_subject(Random& random, const Plan& plan) {
  if (plan.subject == Subject::places)
    return with_places[static_cast<std::size_t>(random.below(with_places.size()))];
  if (plan.subject) return *plan.subject;
  if (plan.model != Model::none || plan.control != Control::none || random.one_in(2))
    return Subject::everything;
  return static_cast<Subject>(random.between(1, static_cast<std::int64_t>(Subject::fetches)));
}

}  // namespace

Scenario::Scenario(Random& random, const Plan& plan)
    : subject(some_subject(random, plan)),
      faults(plan.faults),
      hosts(static_cast<int>(random.between(1, plan.most_hosts))),
      slots(static_cast<int>(random.between(1, plan.most_slots))),
      tags(static_cast<int>(random.between(1, 3))),
      calls(random.between(std::max(plan.most_calls / 4, 1), plan.most_calls)),
      longest_run(random.spread(16, 4096)),
      longest(random.spread(10 * second, 4 * minute)),
      kinds(),
      layout(Layout::parse(layouts[static_cast<std::size_t>(random.below(layouts.size()))])),
      guard_steps(100),
      max_step(random.one_in(4) ? leaf::max_step : random.spread(1, 200)),
      window(milliseconds(random.one_in(4) ? 600'000 : random.spread(20, 20'000))),
      recycle_after(milliseconds(random.spread(100, 60'000))),
      network(),
      switches_per_fault(random.spread(8, 400)),
      most_faults(random.spread(1, 40)),
      step(),
      draws_singly(plan.model != Model::none),
      draws_no_batches(false),
      has_another_store(random.one_in(4)),
      takes_time(random.one_in(32)) {
  // A few kinds at once meet more often than all.
  for (std::int64_t i = random.between(1, 4); i > 0; --i)
    kinds.push_back(static_cast<ActorKind>(random.below(8)));
  if (random.one_in(2)) {
    const auto some = [&] { return random.one_in(2) ? random.spread(4, 100) : 0; };
    network = {.lost_request = some(),
               .lost_reply = some(),
               .warning = some(),
               .conflict = some(),
               .delay = some(),
               .refused_login = some()};
  }
  keep_to(plan.model);
  if (!is_watched()) faults &= ~only({Fault::silence, Fault::row_lock, Fault::shortage});
  if (!is_watched() && subject != Subject::units) faults &= ~only({Fault::still_clock});
  keep_to(subject, random);
  if (plan.subject == Subject::places) keep_to_places(random);
  has_another_store =
      has_another_store && may(Fault::repoint) && plan.model == Model::none && plan.control == Control::none;
  if (has_another_store) {
    keep_to_two_stores();
  } else if (!is_about_damages()) {
    takes_time = false;
  }
}

void Scenario::keep_to_two_stores() {
  // They have no worker in common, so none is asked for by number.
  std::ranges::replace(kinds, ActorKind::pinned_snowflakes, ActorKind::host_snowflakes);
  if (subject != Subject::turns && subject != Subject::layouts && subject != Subject::away &&
      subject != Subject::latecomers && !is_watched())
    kinds.push_back(ActorKind::host_segments);
  if (!takes_time) return;
  longest = (is_small() ? 20 : 4) * minute;
  calls = 150;  // so that programs start until then
  network = {};
}

void Scenario::keep_to(Subject about, Random& random) {
  const auto keep_kinds = [&](std::initializer_list<ActorKind> of_subject) {
    for (ActorKind& kind : kinds) kind = of_subject.begin()[random.below(std::ssize(of_subject))];
  };
  has_another_store = has_another_store && about == Subject::everything;
  switch (about) {
    case Subject::everything:
    case Subject::places:  // as another one
      return;
    case Subject::threads:
      return keep_to_threads(random);
    case Subject::solos:
      return keep_to_solos(random);
    case Subject::crowds:
      return keep_to_crowds(random);
    case Subject::moves:
      return keep_to_moves(random);
    case Subject::clocks:
      return keep_to_clocks(random);
    case Subject::outages:
      return keep_to_outages(random);
    case Subject::holders:
      return keep_to_holders(random);
    case Subject::demands:
      return keep_to_demands(random);
    case Subject::latecomers:
      return keep_to_latecomers(random);
    case Subject::handovers:
      return keep_to_handovers(random);
    case Subject::rewinds:
      return keep_to_rewinds(random);
    case Subject::names:
      faults &= only({Fault::repoint, Fault::kill, Fault::stop, Fault::network});
      hosts = 1;
      has_another_store = true;
      takes_time = takes_time || random.one_in(16);
      // Whoever fetches notices it too.
      if (takes_time && random.one_in(2)) step = 1'000'000;
      return;
    case Subject::removals:
      faults &= only({Fault::change, Fault::kill, Fault::stop, Fault::network});
      tags = 1;
      keep_kinds(
          {ActorKind::host_segments, ActorKind::short_segments, ActorKind::own_segments, ActorKind::direct});
      return;
    case Subject::windows:
      faults &= only({Fault::clock, Fault::recycle, Fault::kill, Fault::stop, Fault::network});
      keep_kinds({ActorKind::host_snowflakes, ActorKind::short_snowflakes, ActorKind::own_snowflakes});
      return;
    case Subject::folders:
      faults &=
          only({Fault::relic, Fault::damage, Fault::remove_folder, Fault::reboot, Fault::kill, Fault::stop});
      keep_kinds({ActorKind::host_segments, ActorKind::short_segments, ActorKind::host_snowflakes,
                  ActorKind::short_snowflakes});
      return;
    case Subject::copies:
      faults &= only({Fault::repoint, Fault::kill, Fault::stop, Fault::network});
      hosts = 1;
      has_another_store = true;
      takes_time = false;
      return;
    case Subject::fetches:
      faults &=
          only({Fault::kill, Fault::stop, Fault::clock, Fault::store_clock, Fault::recycle, Fault::network});
      hosts = 1;
      keep_kinds({ActorKind::host_segments, ActorKind::short_segments, ActorKind::host_snowflakes,
                  ActorKind::short_snowflakes});
      return;
    case Subject::damages:
      faults &= only({Fault::damage, Fault::change, Fault::kill, Fault::stop});
      hosts = 1;
      keep_kinds({ActorKind::host_segments, ActorKind::short_segments, ActorKind::host_snowflakes,
                  ActorKind::short_snowflakes});
      takes_time = random.one_in(4);
      if (!takes_time) return;
      // Long enough that what was drawn is noted, and what is damaged is noticed.
      tags = 1;
      longest = random.between(20 * second, 90 * second);
      calls = 150;
      draws_no_batches = random.one_in(2);
      if (draws_no_batches) kinds = {ActorKind::host_segments};
      if (random.one_in(2)) step = 200;
      if (random.one_in(4)) keep_to_lasting_units();
      return;
    case Subject::marks:
      faults &= only({Fault::remove_folder, Fault::kill});
      hosts = 1;
      takes_time = false;
      calls *= 6;
      keep_kinds({ActorKind::marks});
      return;
    case Subject::stragglers:
      return keep_to_stragglers(random);
    case Subject::turns:
      return keep_to_turns(random);
    case Subject::takings:
      return keep_to_takings(random);
    case Subject::layouts:
      return keep_to_layouts(random);
    case Subject::units:
      return keep_to_units(random);
    case Subject::setbacks:
      return keep_to_setbacks(random);
    case Subject::away:
      return keep_to_away(random);
  }
}

Time Scenario::patience() const {
  if ((subject == Subject::windows || (has_stragglers() && !may(Fault::change))) && has_many_workers())
    // Where a clock was ahead, what was leased up to there, and one window more.
    return 3 * minute + (may(Fault::clock) ? 2 * Time{window.count()} * millisecond : 0);
  // After a failover no worker is leased while a window may last that a lost commit leased, two days where a
  // wrong clock had them leased far ahead.
  return 49 * 60 * minute;
}

void Scenario::keep_to(Model model) {
  switch (model) {
    case Model::none:
      return;
    case Model::segment:
      hosts = tags = 1;
      step = max_step = 2;
      kinds = {ActorKind::short_segments};
      return;
    case Model::window:
      hosts = 1;
      layout = Layout::parse("leaf");
      window = milliseconds(20);
      kinds = {ActorKind::own_snowflakes};
      return;
    case Model::failover:
      tags = 1;
      step = max_step = 1;
      guard_steps = 2;
      kinds = {ActorKind::direct};
      return;
  }
}

}  // namespace leaf::simulation
