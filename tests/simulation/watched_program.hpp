#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "simulation/actors.hpp"

namespace leaf::simulation {

using std::chrono::milliseconds;

/// How long one may take where the timeout is zero.
inline constexpr Time one_attempt = second;
/// To give up a lease without an answer, and one that came too late.
inline constexpr Time until_given_up = 2 * one_attempt;
/// What a call may take beside what it waits for.
inline constexpr Time until_it_ends = 100 * millisecond;
/// After a failure nobody asks again for so long.
inline constexpr Time longest_pause = 2 * second;
/// Who has claimed a fetch, and died since, keeps others from it for so long.
inline constexpr Time claim_lasts = second;
/// A stopped process keeps its file for so long, if others can draw from it: a timeout, and what a call that
/// has failed takes to note that.
inline constexpr Time longest_hold = 6 * second;
/// How much longer a way to the store and back takes than the store is slow.
inline constexpr Time slowest_answer = 4 * millisecond;
/// How soon it is noticed that the folder was removed.
inline constexpr Time until_noticed = second;
/// How often a call may wait that comes to an end piece by piece, or behind those of other threads.
inline constexpr int most_waits = 40;

/// leafctl(1), HOST BUFFER: with a timeout below ten times of what connecting to the store and a grant take,
/// others fetch instead of who is at it, again and again, and what it gets is lost.
inline bool leaves_time_to_fetch(const Place& place, Time slowness) {
  const auto shortest = place.tally.shortest_timeouts.find(place.host.number);
  const Time connecting_and_a_grant = 3 * (slowness + slowest_answer);
  return shortest == place.tally.shortest_timeouts.end() || shortest->second >= 10 * connecting_and_a_grant;
}

/// A program of several threads, and how long their calls take.
class WatchedProgram {
 public:
  WatchedProgram(const Place& place, Process& process) : place_(place), process_(process) {}

 protected:
  Random& random() const { return Scheduler::the().random(); }
  static Time now() { return Scheduler::the().now(); }
  const Scenario& scenario() const { return place_.scenario; }
  bool is_shared() const { return is_shared_; }
  bool is_over() const { return place_.tally.is_over; }
  void fail(const std::string& what) const {
    place_.ledger.fail(fmt::format("process {} {}", process_.number, what));
  }

  void sleep(Time duration) const { Scheduler::the().sleep_until(now() + duration); }
  void think() const {
    if (scenario().lasts) return sleep(random().between(20 * millisecond, 700 * millisecond));
    if (random().one_in(3))
      sleep(random().spread(microsecond, random().one_in(4) ? 2 * second : 20 * millisecond));
  }

  void in_threads(int count, const std::function<void(int)>& work) {
    Scheduler& scheduler = Scheduler::the();
    std::vector<const Fiber*> others;
    for (int i = 1; i < count; ++i)
      others.push_back(&scheduler.start(process_, [this, &work, i] {
        work(i);
        --own_threads_;
      }));
    work(0);
    for (const Fiber* const other : others) {
      while (!Scheduler::is_done(*other)) scheduler.wait(other);
    }
  }

  /// When the store has answered, and nobody has held up others, for long enough that IDs come at once.
  Time served_from(const std::string& tag) const {
    const Server& server = Server::the();
    Time calm = std::max(server.calm_since(tag), place_.host.no_threads_until);
    // Others' turns come first: of a fetch, and on a host also of who waits for that one no longer.
    if (connections_ <= (is_shared_ ? 2 : 1))
      calm = std::max(calm, server.calm_since(server.tag_names.front()));
    // And others may be quicker.
    const auto drawn = place_.tally.drawn_at.find({is_shared_ ? 0 : process_.number, tag});
    // Who claimed a fetch may have ended since.
    const bool is_by_claim = is_shared_ || server.disturbed_at() == calm;
    // By others' attempts pauses grow too.
    const bool is_known =
        !is_shared_ && keeps_to_pauses_ && server.is_unreachable && server.is_disturbed_by_outage();
    const Time pause =
        !is_known && server.disturbed_at() + longest_pause > calm ? longest_pause : server.grown_pause();
    Time from = std::max(calm + pause + (is_by_claim ? claim_lasts : 0),
                         drawn == place_.tally.drawn_at.end() ? 0 : drawn->second);
    // Nobody else is leased a worker that is asked for by its number.
    if (scenario().is_pinned) {
      for (const Process* const other : place_.host.processes)
        from = std::max(from, other->stopped_until + longest_pause);
    }
    // Windows of a stopped process are over at some time.
    if (is_shared_ && !tag.empty()) from = std::max(from, server.disturbed_at() + longest_hold);
    return from;
  }
  /// Others on this host wait that long for who shares their buffers and fetches.
  void note_timeout(milliseconds timeout) {
    const Time time = timeout == milliseconds::zero() ? one_attempt : Time{timeout.count()} * millisecond;
    Time& shortest = place_.tally.shortest_timeouts.try_emplace(place_.host.number, time).first->second;
    shortest = std::min(shortest, time);
    if (is_shared_) place_.tally.timeouts[process_.number] = time;
  }
  /// Whether IDs come soon: not while some connections still lead to another store than others.
  bool is_soon_served() const {
    constexpr Time until_all_have_moved = 75 * second;
    const Server& server = Server::the();
    const bool leads_to_both =
        server.leaves_connections() && now() < server.disturbed_at() + until_all_have_moved;
    return scenario().is_brisk && scenario().network.delay == 0 && !leads_to_both &&
           (!is_shared_ || leaves_time_to_fetch(place_, scenario().slowness));
  }
  /// How long a call takes at most that asks the store, and waits for others that do.
  Time prompt() const { return (6 + 4 * scenario().tags) * scenario().slowness + 300 * millisecond; }

  /// Does `work()`, one call that waits for up to `timeout`, perhaps several times, for `tag`, or a worker if
  /// that is empty. False if it throws Error; who `is_patient` does not before the end of the timeout, if
  /// waiting may help.
  template <typename Work>
  bool call(const std::string& tag, milliseconds timeout, Work work, bool is_patient = true, int waits = 1) {
    ++place_.tally.calls;
    const Time begun = now(), kept_waiting = process_.kept_waiting, from = served_from(tag);
    const int times_stopped = process_.times_stopped;
    const bool has_fetchers =
        process_.threads > own_threads_ || is_shared_ || place_.host.no_threads_until == 0;
    std::optional<Error> error;
    try {
      work();
    } catch (const Error& thrown) {
      error = thrown;
      has_failed_ = true;
      ++place_.tally.failed_calls;
      place_.tally.last_error = thrown.what();
      place_.log.note("failed", process_.number, static_cast<int>(thrown.code()));
      place_.log.say("call", process_.number, thrown.what());
    }
    if (process_.times_stopped == times_stopped) {
      const Time waited = now() - begun - (process_.kept_waiting - kept_waiting);
      require_in_time(timeout, waits, waited);
      if (error && is_patient && has_fetchers) require_patience(*error, timeout, now() - begun);
      if (waits == 1 || error) require_prompt(tag, timeout, begun, from, waits == 1 ? waited : 0, error);
    }
    return !error;
  }

  void require_in_time(milliseconds timeout, int waits, Time waited) const {
    const Time given =
        waits * (timeout == milliseconds::zero() ? one_attempt : Time{timeout.count()} * millisecond);
    if (waited > given + until_it_ends + 2 * scenario().slowness + afterwards_)
      fail(fmt::format("waited for {} ms, where {} are the most", waited / millisecond, given / millisecond));
  }
  /// Waiting may cure it.
  void require_patience(const Error& error, milliseconds timeout, Time lasted) const {
    if (!error.retryable() || lasted >= Time{timeout.count()} * millisecond) return;
    fail(fmt::format("gave up after {} ms, though it had {}: {}", lasted / millisecond, timeout.count(),
                     error.what()));
  }
  void require_prompt(const std::string& tag, milliseconds timeout, Time begun, Time from, Time waited,
                      const std::optional<Error>& error) const {
    if (!scenario().is_brisk || is_over() || tag.empty()) return;
    const bool may_fail = error && !error->retryable();
    if (may_fail) return require_refused(tag, begun, *error);
    if (!is_soon_served() || has_limit(tag) || Server::the().tags_changed_at() >= begun) return;
    if (error && timeout == milliseconds::zero() && !is_shared_) require_own_failure(tag, begun, *error);
    const Time ready_at = std::max(begun, std::max(from, served_from(tag)));
    if (begun + waited > ready_at + prompt())
      fail(fmt::format("waited for {} ms since nothing kept IDs of '{}' from it",
                       (now() - ready_at) / millisecond, tag));
    if (error && begun >= ready_at && timeout > milliseconds(prompt() / millisecond))
      fail(fmt::format("got no ID of '{}', though nothing kept any from it: {}", tag, error->what()));
  }
  /// Whoever waits for one fetch is told how that one went: the one under way, or the next.
  void require_own_failure(const std::string& tag, Time begun, const Error& error) const {
    const Server& server = Server::the();
    const Time until_answered = 2 * (scenario().slowness + slowest_answer) + 10 * millisecond;
    // A connection may have broken since.
    const bool is_disturbed = server.disturbed_at() + longest_pause + until_answered > begun;
    Time calm = std::max(server.calm_since(tag), place_.host.no_threads_until);
    calm = std::max(calm, server.calm_since(server.tag_names.front()));
    if (!is_disturbed && calm + until_answered <= begun && prompt() < one_attempt)
      fail(fmt::format("was told of a fetch that had failed before: {}", error.what()));
  }
  static bool has_limit(const std::string& tag) {
    const auto& tags = Server::the().model.tables.tags;
    const auto row = std::ranges::find(tags, tag, &TagRow::name);
    return row != tags.end() && row->limit;
  }
  /// What a call is told is so while it lasts.
  void require_refused(const std::string& tag, Time begun, const Error& error) const {
    if (error.code() != ErrorCode::exhausted || tag.empty()) return;
    if (!has_limit(tag) && Server::the().tags_changed_at() < begun)
      fail(fmt::format("was told of a limit of '{}' that was removed before it asked", tag));
  }

  const Place place_;
  Process& process_;
  bool is_shared_ = false;
  int own_threads_ = 1;           ///< beside those of the library
  bool keeps_to_pauses_ = false;  ///< nobody asks in between
  bool has_failed_ = false;       ///< a call has
  bool is_alone_ = true;          ///< there is one
  int connections_ = 1;           ///< that ask at once
  Time afterwards_ = 0;           ///< what a call may take in addition
};

}  // namespace leaf::simulation
