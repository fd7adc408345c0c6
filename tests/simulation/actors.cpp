#include "simulation/actors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "host/shared_state.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "simulation/threads.hpp"

namespace leaf::simulation {

namespace {

using std::chrono::milliseconds;

/// Most who ask for IDs at the end wait for something that is minutes away, and this long each time they ask.
constexpr milliseconds probe_timeout{250};

/// How long one may take where the timeout is zero.
constexpr Time one_attempt = second;
/// To give up a lease without an answer, and one that came too late.
constexpr Time until_given_up = 2 * one_attempt;

HostClock& host_clock() {
  static HostClock& clock = *new HostClock;
  return clock;
}
[[maybe_unused]] const HostClock& made_at_the_begin = host_clock();

/// From when on IDs of a store are drawn that the name does not lead to any more, while nothing else happens.
struct Unnoticed {
  int disturbances = -1;
  Time since = 0;
  Time overdue_at = 0;
};

/// When IDs of each of two stores were drawn last, and of which the last were.
struct Trail {
  std::array<Time, 2> drawn_at{};
  int store = 0;
};

class Actor;
/// Starts a program that does `work`.
Process& make_program(const Place& place, std::function<void(const Actor&)> work);

/// One program on one host.
class Actor {
 public:
  Actor(const Place& place, Process& process) : place_(place), process_(process) {}

  Random& random() const { return Scheduler::the().random(); }
  const Scenario& scenario() const { return place_.scenario; }
  int number() const { return process_.number; }
  Host& host() const { return place_.host; }

  /// Another thread of this program.
  Fiber& start(std::function<void()> body) const { return Scheduler::the().start(process_, std::move(body)); }
  static void join(const Fiber& fiber) {
    while (!Scheduler::is_done(fiber)) Scheduler::the().wait(&fiber);
  }

  void think() const {
    Scheduler& scheduler = Scheduler::the();
    if (scenario().takes_time)
      return scheduler.sleep_until(scheduler.now() + random().between(50 * millisecond, 4 * second));
    if (scenario().is_busy || !random().one_in(4)) return;
    scheduler.sleep_until(scheduler.now() +
                          random().spread(microsecond, random().one_in(8) ? 20 * second : 50 * millisecond));
  }

  /// Does `work()`; false if it throws Error, which whoever draws may meet.
  template <typename Work>
  bool try_to(const char* what, Work work) const {
    const Time begun = Scheduler::the().now();
    try {
      work();
      return true;
    } catch (const Error& error) {
      place_.log.note("failed", number(), static_cast<int>(error.code()));
      place_.log.say(what, number(), error.what());
      place_.tally.last_error = std::string(what) + ": " + error.what();
      require_good_reason(error);
      require_no_false_alarm(what, error, begun);
      if (scenario().subject == Subject::setbacks) raise_as_told(error);
      if (error.code() == ErrorCode::failed && scenario().is_small() &&
          !place_.tally.folder_removed_at.contains(host().number))
        place_.ledger.fail(
            fmt::format("process {} fails where no file is touched: {}", number(), error.what()));
      return false;
    }
  }
  /// Does `work()`, one call of the library that waits once: it takes no longer than its timeout, but for the
  /// time in which others ran in its place.
  template <typename Work>
  auto in_time(milliseconds timeout, Work work) const {
    return in_time(timeout, std::move(work), [] { return Time{0}; });
  }
  /// `most_afterwards()` says at the end what it may take in addition.
  template <typename Work, typename MostAfterwards>
  auto in_time(milliseconds timeout, Work work, MostAfterwards most_afterwards) const {
    struct Watch {
      const Actor& actor;
      const Time most_before;
      const MostAfterwards& most_afterwards;
      const Time begun = Scheduler::the().now();
      const Time kept_waiting = actor.process_.kept_waiting;
      const int times_stopped = actor.process_.times_stopped;
      ~Watch() {
        const Process& process = actor.process_;
        const Time lasted = Scheduler::the().now() - begun - (process.kept_waiting - kept_waiting);
        const Time most = most_before + most_afterwards();
        if (lasted > most && process.times_stopped == times_stopped)
          actor.place_.ledger.fail(fmt::format("process {} waited for {} ms, where {} are the most",
                                               process.number, lasted / millisecond, most / millisecond));
      }
    };
    constexpr Time until_it_ends = 100 * millisecond;
    const Time given = timeout == milliseconds::zero() ? one_attempt : Time{timeout.count()} * millisecond;
    const Watch watch{
        .actor = *this, .most_before = given + until_it_ends, .most_afterwards = most_afterwards};
    try {
      return work();
    } catch (const Error& error) {
      if (timeout != milliseconds::zero())
        require_patience(error, Scheduler::the().now() - watch.begun, given);
      throw;
    }
  }

  template <typename Work>
  auto without_retry(Work work) const {
    try {
      return work();
    } catch (const Error& error) {
      require_no_retry(error);
      throw;
    }
  }
  bool try_to_open(SegmentAllocator& allocator, int tag, SegmentTag& handle) const {
    return try_to("tag",
                  [&] { handle = without_retry([&] { return allocator.tag(TagName(name_of(tag))); }); });
  }

  template <typename Work>
  bool call(const char* what, Work work) const {
    ++place_.tally.calls;
    const bool is_good = try_to(what, std::move(work));
    if (!is_good) ++place_.tally.failed_calls;
    return is_good;
  }

  /// Returns the store that granted them.
  int note(Ledger::Call call, int tag, Range ids, bool is_own, const Layout* layout = nullptr) const {
    const bool is_unordered =
        place_.tally.unordered.contains(host().number) ||
        (tag == Ledger::snowflakes && place_.tally.folder_removed_at.contains(host().number));
    if (!is_own && is_unordered) call.order = nullptr;
    place_.log.note(tag == Ledger::snowflakes ? "snowflake" : name_of(tag), number(), ids.lo, ids.hi);
    if (tag == Ledger::snowflakes && place_.log.is_read()) {
      const std::int64_t made_at = layout->time_of(ids.lo).time_since_epoch().count();
      place_.log.say("of worker", number(),
                     std::to_string(layout->worker_of(ids.lo)) + " at " + std::to_string(made_at) + " " +
                         std::to_string(layout->sequence_of(ids.lo)));
    }
    if (is_about_damages() && !is_own) {
      const std::string of = buffer_of(tag);
      Damages& damages = place_.tally.damages;
      if (damages.is_excused(process_, of, call.begun)) return 0;
      if (tag == Ledger::snowflakes || damages.is_order_excused(process_, of, call.begun))
        call.order = nullptr;
      if (auto what = damages.not_thrown_away(process_, of, call.begun)) place_.ledger.fail(std::move(*what));
    }
    const bool is_one_life = place_.tally.is_doubtful || scenario().has_another_store;
    if (is_own && tag != Ledger::snowflakes && !is_one_life) require_present_life(tag, ids.lo, call.begun);
    const int store = place_.ledger.drawn(call, tag, ids, host().number, is_own ? number() : 0, layout);
    if (!is_own && tag != Ledger::snowflakes && !scenario().has_another_store) require_left(call.begun);
    if (is_about_damages())
      for (std::int64_t id = ids.lo; id < ids.hi; ++id) place_.tally.damages.note_drawn(tag, id, process_);
    return store;
  }

  /// Whoever has a removed file mapped leaves it within a second of its own, also if it draws nothing then.
  void require_left(Time begun) const {
    constexpr Time until_noticed = 2 * second;
    const auto removed = place_.tally.folder_removed_at.find(host().number);
    const auto waited = place_.tally.waited_at_removal.find(&process_);
    if (removed == place_.tally.folder_removed_at.end() || waited == place_.tally.waited_at_removal.end())
      return;
    const Time kept_waiting = Scheduler::the().kept_waiting(process_) - waited->second;
    if (place_.ledger.first_granted_at() <= removed->second &&
        begun - removed->second - kept_waiting > until_noticed)
      place_.ledger.fail(fmt::format("process {} draws from a file that was removed", number()));
  }
  /// Whoever has been granted IDs of a tag that was added again draws none of the one that was removed.
  void require_present_life(int tag, std::int64_t id, Time begun) const {
    const Time lasted = Scheduler::the().now() - begun;
    if (place_.ledger.known_as_former(tag, id, process_) > lasted + second)
      place_.ledger.fail(fmt::format("process {} has ID {} of a tag that was removed before", number(), id));
  }
  bool is_about_damages() const { return scenario().is_about_damages(); }
  /// As a file of the host is called.
  std::string buffer_of(int tag) const { return tag == Ledger::snowflakes ? owner_of(host()) : name_of(tag); }

  /// A store that is good is not refused for damage of a buffer, nor does that lead ahead of the clock.
  void require_good_reason(const Error& error) const {
    constexpr Time longest_call = 10 * second;
    const Time since = Scheduler::the().now() - longest_call;
    if (!is_about_damages() || place_.tally.damages.is_excused(process_, since)) return;
    for (const Remedy& remedy : error.remedies()) {
      if (remedy.kind == Remedy::Kind::raise_tag || remedy.kind == Remedy::Kind::release_workers)
        place_.ledger.fail(fmt::format("process {} is refused what is good: {}", number(), error.what()));
    }
  }
  void raise_as_told(const Error& refused) const {
    try {
      follow(refused);
    } catch (const Error& error) {
      place_.log.say("remedy", number(), error.what());
    }
  }
  /// Nobody is told of what has not happened.
  void require_no_false_alarm(std::string_view what, const Error& error, Time begun) const {
    const auto fail = [&](const char* alarm) {
      place_.ledger.fail(fmt::format("process {} is told of {}: {}", number(), alarm, error.what()));
    };
    const bool may_be_mistaken = place_.tally.is_doubtful || scenario().other_layout ||
                                 place_.tally.folder_removed_at.contains(host().number);
    if (error.code() == ErrorCode::usage && !may_be_mistaken) fail("a mistake");
    const bool is_of_tags = what == "next" || what == "next --direct";
    if (error.code() == ErrorCode::exhausted && is_of_tags && !place_.tally.has_limited) fail("a limit");
    if (place_.tally.is_doubtful || scenario().has_another_store) return;
    // A window may be over, and leased to others, before its holder comes to note it.
    const Time longest_fetch = Time{scenario().window.count()} * millisecond / 2;
    const bool is_quick = Scheduler::the().now() - begun < longest_fetch && process_.times_stopped == 0 &&
                          scenario().window >= std::chrono::seconds(8);
    if (is_quick && std::string_view(error.what()).find("restored from a backup") != std::string_view::npos)
      fail("a backup");
    // It goes back by four seconds at most, and units may have begun ahead of it. One that stands still falls
    // behind for as long.
    const bool goes_back_by_little = scenario().subject == Subject::units && !scenario().has_far_clocks &&
                                     !host().has_stood_still &&
                                     scenario().longest_unit() <= std::chrono::seconds(1) &&
                                     scenario().max_backward >= std::chrono::seconds(10);
    if (goes_back_by_little &&
        std::string_view(error.what()).find("behind the last ID") != std::string_view::npos)
      fail("a clock that is too far behind");
    // The server's may have been set back by more than the two may differ.
    const Time set_back = Server::the().furthest_ahead - Server::the().clock_offset;
    const bool is_clock_right = host().clock_sets == 0 && host().stands_at == 0 &&
                                set_back < Time{WorkerRequest().max_skew.count()} * millisecond;
    for (const Remedy& remedy : error.remedies())
      if (remedy.kind == Remedy::Kind::release_workers && is_clock_right) fail("a wrong clock");
  }
  /// Whoever allows time is not told to try again before it has passed.
  void require_patience(const Error& error, Time lasted, Time given) const {
    const bool may_end_before = Time{scenario().longest_unit().count()} * millisecond > given;
    if (is_about_damages() && error.retryable() && lasted < given && !may_end_before)
      place_.ledger.fail(fmt::format("process {} waited for {} ms only, where it allowed {}: {}", number(),
                                     lasted / millisecond, given / millisecond, error.what()));
  }
  /// What does not wait for the store has nobody try again.
  void require_no_retry(const Error& error) const {
    if (is_about_damages() && error.retryable())
      place_.ledger.fail(fmt::format("process {} is told to try again at once: {}", number(), error.what()));
  }

  /// Who goes on drawing learns within a minute where the name leads now: 30 s a connection lasts, and 30 s
  /// what it told. 10 s more where who was about to look did not come to it.
  void require_noticed(Unnoticed& unnoticed, int drawn_from) const {
    constexpr Time most = 75 * second, until_checked = 5 * second;
    const Server& server = Server::the();
    const Time now = Scheduler::the().now();
    const bool is_new = unnoticed.disturbances != server.disturbances();
    if (server.store() == drawn_from || is_new) unnoticed = {server.disturbances(), now};
    if (now - unnoticed.since < most) return;
    if (unnoticed.overdue_at == 0) unnoticed.overdue_at = now;  // it is looked up after something was drawn
    if (now - unnoticed.overdue_at > until_checked)
      place_.ledger.fail(
          fmt::format("process {} still draws from store {}, which its name has not led to for a minute",
                      number(), drawn_from));
  }

  /// Whoever starts looks where the name leads, if nobody has for long. Not who does not wait.
  void require_checked(Time began, bool was_answer_ahead, int drawn_from) const {
    constexpr Time most = 75 * second;
    const Server& server = Server::the();
    // A check of the name waits for little: whoever was kept from running may have given it up, and nobody
    // else checks for a while then.
    if (scenario().is_small() && process_.kept_waiting > 100 * millisecond)
      place_.tally.check_given_up_at = Scheduler::the().now();
    const bool may_be_given_up = began - place_.tally.check_given_up_at < most;
    // By a clock that was set back a check is newer than it is, unless that has the check lie ahead.
    const Time set_back = std::max<Time>(host().furthest_ahead - host().clock_offset, 0);
    const bool may_look_new =
        scenario().is_small() && !was_answer_ahead && began - host().clock_set_at < 2 * most + set_back;
    if (server.store() != drawn_from && began - server.disturbed_at() > most && !may_be_given_up &&
        !may_look_new)
      place_.ledger.fail(
          fmt::format("process {} starts and draws from store {}, which its name has not led to for a minute",
                      number(), drawn_from));
  }

  /// Whether what the host has noted of where the name leads was asked at a time that its clock comes to
  /// later than anybody looks who begins now.
  bool is_answer_ahead() const {
    constexpr Time until_looked_at = 10 * second;
    const std::int64_t near_ms = (host().clock() + until_looked_at) / millisecond;
    for (const auto& [path, folder] : host().folders) {
      for (const auto& [name, file] : folder->entries) {
        if (!name.starts_with("store-") || file->size < sizeof(host::SharedState)) continue;
        const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
        if (state.store_name.checked_at_ms.peek() > near_ms) return true;
      }
    }
    return false;
  }

  /// Whether the host has noted where the name leads now.
  bool is_noted() const {
    const std::string deployment = Server::the().deployment_of(Server::the().store());
    for (const auto& [path, folder] : host().folders) {
      for (const auto& [name, file] : folder->entries) {
        if (!name.starts_with("store-") || file->size < sizeof(host::FileHeader)) continue;
        if (deployment == reinterpret_cast<const host::FileHeader*>(file->memory)->deployment) return true;
      }
    }
    return false;
  }

  /// Who has seen that the name leads elsewhere does not go back before it leads back.
  void require_no_return(Trail& trail, int drawn_from, bool was_noted) const {
    const Server& server = Server::the();
    const auto store = static_cast<std::size_t>(drawn_from);
    const Time last = std::exchange(trail.drawn_at[store], Scheduler::the().now());
    if (std::exchange(trail.store, drawn_from) != drawn_from && last != 0 && server.store() != drawn_from &&
        server.turned_at() < last && was_noted)
      place_.ledger.fail(fmt::format("process {} goes back to store {}, which its name has not led to since",
                                     number(), drawn_from));
  }

  /// Two copies may have granted the same.
  void require_one_store(std::optional<int>& of_call, int drawn_from) const {
    if (of_call && of_call != drawn_from && scenario().subject != Subject::copies)
      place_.ledger.fail(fmt::format("process {} has IDs of two stores from one call", number()));
    of_call = drawn_from;
  }

  void require_as_many(std::int64_t wanted, std::int64_t got) const {
    if (got != wanted)
      place_.ledger.fail(fmt::format("process {} asked for {} IDs and got {}", number(), wanted, got));
  }

  /// The IDs of one call ascend.
  void require_above(std::int64_t end, std::int64_t id, Time begun) const {
    if (id < end && !(is_about_damages() && place_.tally.damages.is_excused(process_, begun)))
      place_.ledger.fail(fmt::format("process {} has ID {} after {} from one call", number(), id, end - 1));
  }

  /// No ID is ahead of its host's clock by more than `max_backward`, or the unit that is open.
  void require_near(const Layout& layout, std::int64_t id) const {
    const auto clock = UnixTime(milliseconds(host().clock() / millisecond));
    const milliseconds lead = std::max(scenario().max_backward, layout.unit()) + layout.unit();
    if (layout.time_of(id) > clock + lead)
      place_.ledger.fail(
          fmt::format("process {} has a snowflake ID that is further ahead of its clock than {} ms", number(),
                      lead.count()));
  }

  std::int64_t some_calls() const {
    return scenario().takes_time ? random().between(24, 90) : random().spread(1, 24);
  }
  int some_tag() const { return static_cast<int>(random().below(scenario().tags)); }
  const std::string& name_of(int tag) const { return Server::the().tag_names[static_cast<std::size_t>(tag)]; }
  /// Whoever has a removed file mapped notices it within a second of its own, and draws on until then.
  Ledger::Order& order(int host_number, const std::string& of) const {
    Ledger::Order& found = place_.tally.orders[{host_number, of}];
    const auto removed = place_.tally.folder_removed_at.find(host_number);
    if (removed != place_.tally.folder_removed_at.end()) found.granted_after = removed->second;
    return found;
  }

  Ledger::Order& order_of_tag(int tag) const {
    return order(host().number, scenario().is_owner_a_tag ? "tag " + name_of(tag) : name_of(tag));
  }

  std::int64_t way_to_draw(bool fetches_ahead) const {
    constexpr std::int64_t in_pieces = 6, singly = 5;
    if (scenario().draws_singly || (scenario().draws_no_batches && fetches_ahead)) return singly;
    if (scenario().is_busy && random().one_in(2)) return in_pieces;
    // Nothing notes what a short program has taken one by one.
    if (is_about_damages() && !fetches_ahead) return random().below(3);
    return random().below(scenario().is_small() ? in_pieces + 1 : in_pieces);
  }

  /// A call that draws in one of the ways there are.
  bool draw(SegmentTag& tag, milliseconds timeout, int number_of_tag, Ledger::Order& order_of, bool is_own,
            int& drawn_from, bool fetches_ahead = true) const {
    return call("next", [&] {
      const Ledger::Call begun = Ledger::begin(&order_of);
      const std::int64_t count = scenario().draws_singly ? 1 : random().spread(1, 30);
      place_.log.note("asks", number(), count, begun.before.of_stores[0].highest);
      std::optional<int> of_call;
      const auto noted = [&](Range ids) {
        drawn_from = note(begun, number_of_tag, ids, is_own);
        require_one_store(of_call, drawn_from);
      };
      switch (way_to_draw(fetches_ahead)) {
        case 6:
          return draw_pieces(tag, count, noted);
        case 0:
          return noted(in_time(
              timeout, [&] { return tag.next_range(static_cast<std::uint64_t>(count)); }));  // or fewer
        case 1: {
          const std::int64_t wanted = count * (random().one_in(4) ? 20 : 1);
          std::int64_t got = 0, end = 0;
          for (const Range ids : tag.next_ranges(static_cast<std::uint64_t>(wanted))) {
            noted(ids);
            got += ids.hi - ids.lo;
            require_above(end, ids.lo, begun.begun);
            end = ids.hi;
          }
          return require_as_many(wanted, got);
        }
        case 2: {
          std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
          tag.next(ids);
          for (const std::int64_t id : ids) noted({id, id + 1});
          for (std::size_t i = 1; i < ids.size(); ++i) require_above(ids[i - 1] + 1, ids[i], begun.begun);
          return;
        }
        default: {
          const std::int64_t id = in_time(timeout, [&] { return tag.next(); });
          noted({id, id + 1});
          // Each of these is a call of its own.
          for (std::int64_t i = 1; i < count; ++i) {
            const Ledger::Call next = Ledger::begin(&order_of);
            const std::int64_t another = in_time(timeout, [&] { return tag.next(); });
            drawn_from = note(next, number_of_tag, {another, another + 1}, is_own);
          }
        }
      }
    });
  }

  /// To a client that reads slowly.
  void write_piece() const {
    Scheduler& scheduler = Scheduler::the();
    if (random().one_in(4))
      scheduler.sleep_until(scheduler.now() + random().spread(microsecond, 100 * millisecond));
  }
  /// One answer in several calls, as the server makes it.
  template <typename Noted>
  void draw_pieces(SegmentTag& tag, std::int64_t count, Noted noted) const {
    std::vector<Range> pieces;
    const std::uint64_t changes = tag.store_changes();
    for (std::int64_t i = 0; i < count; ++i) {
      pieces.push_back(tag.next_range(2));
      if (scenario().has_places()) write_piece();
    }
    if (tag.store_changes() != changes) pieces.resize(1);
    for (const Range piece : pieces) noted(piece);
  }

  bool draw(SnowflakeGenerator& generator, milliseconds timeout, Ledger::Order& order_of, bool is_own) const {
    return call("next --snowflake", [&] {
      // The order is promised where time comes first.
      Ledger::Order* const promised = generator.layout().ordered_by_time() ? &order_of : nullptr;
      const Ledger::Call begun = Ledger::begin(promised);
      const std::int64_t count = scenario().draws_singly ? 1 : random().spread(1, 30);
      const std::int64_t clock_sets = host().clock_sets;
      const auto noted = [&](const Ledger::Call& by, std::int64_t id) {
        const int drawn_from = note(by, Ledger::snowflakes, {id, id + 1}, is_own, &generator.layout());
        if (host().clock_sets == clock_sets) require_near(generator.layout(), id);
        return drawn_from;
      };
      if (random().one_in(3)) {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
        generator.next(ids);
        std::optional<int> of_call;
        for (const std::int64_t id : ids) require_one_store(of_call, noted(begun, id));
        if (promised != nullptr)
          for (std::size_t i = 1; i < ids.size(); ++i) require_above(ids[i - 1] + 1, ids[i], begun.begun);
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const Ledger::Call next = Ledger::begin(promised);
        std::int64_t id = 0;
        const std::uint64_t asked = Server::the().requests();
        // Where units last a call waits for a window first, and then for the
        // clock.
        const auto afterwards = [&] {
          const bool may_wait_twice =
              scenario().longest_unit() >= milliseconds(1000) && Server::the().requests() != asked;
          return until_given_up + (may_wait_twice ? Time{timeout.count()} * millisecond : Time{0});
        };
        if (!random().one_in(4) || !generator.try_next(id))
          id = in_time(
              timeout, [&] { return generator.next(); }, afterwards);
        noted(next, id);
      }
    });
  }

  SegmentOptions segment_options(bool is_shared, bool fetch_ahead) const {
    SegmentOptions options;
    options.timeout = some_timeout();
    options.max_step = scenario().max_step;
    // Else nobody keeps to it who waits for the store. A lower one bounds that too.
    if (options.max_step == leaf::max_step) options.max_starved_step = options.max_step;
    if (scenario().subject == Subject::away) options.max_connections = 1;  // what is asked waits in line
    if (is_shared) share(options, fetch_ahead);
    return options;
  }
  template <typename Options>
  void share(Options& options, bool fetch_ahead) const {
    options.host = host_options(fetch_ahead);
    place_.tally.timeouts[number()] =
        options.timeout == milliseconds::zero() ? one_attempt : Time{options.timeout.count()} * millisecond;
  }
  SnowflakeOptions snowflake_options(bool is_shared, bool fetch_ahead) const {
    SnowflakeOptions options;
    options.timeout = some_timeout();
    options.worker.owner = owner_of(host());
    options.worker.window = scenario().window;
    options.worker.recycle_after = scenario().recycle_after;
    options.max_backward = scenario().max_backward;
    if (scenario().subject == Subject::units && !random().one_in(4))
      options.timeout = std::max(options.timeout, 2 * scenario().longest_unit());
    if (scenario().subject == Subject::takings && random().one_in(4)) {
      options.worker.not_before =
          UnixTime(milliseconds((host().clock() + random().spread(0, 500 * millisecond)) / millisecond));
      place_.ledger.note_not_before(number(), options.worker.not_before);
    }
    if (is_shared) share(options, fetch_ahead);
    return options;
  }
  /// Whoever waits for long asks again and again, which makes a history slow.
  milliseconds some_timeout() const {
    constexpr std::array<int, 8> timeouts{0, 5000, 5000, 1000, 1000, 1000, 1000, 1000};
    constexpr std::array<int, 8> short_ones{0, 100, 100, 250, 250, 250, 1000, 1000};
    if (scenario().has_stragglers())
      return milliseconds(short_ones[static_cast<std::size_t>(random().below(short_ones.size()))]);
    return milliseconds(timeouts[static_cast<std::size_t>(random().below(timeouts.size()))]);
  }
  StoreOptions marked_store() const {
    StoreOptions store = store_options();
    // Only the host knows that a copy has granted the same before.
    if (scenario().subject == Subject::copies || random().one_in(2))
      store.marks = host_marks(host_options(true));
    return store;
  }

  void in_some_threads(const std::function<void()>& work) const {
    if (scenario().draws_singly) return work();
    std::vector<const Fiber*> threads;
    for (std::int64_t more = scenario().is_busy || random().one_in(2) ? random().between(1, 2) : 0; more > 0;
         --more)
      threads.push_back(&start(work));
    work();
    for (const Fiber* const thread : threads) join(*thread);
  }

  void draw_segments(bool is_shared) const {
    const SegmentOptions options = segment_options(is_shared, true);
    SegmentAllocator allocator(is_shared ? store_options() : marked_store(), options);
    std::map<std::string, Ledger::Order> own_orders;
    const auto draw_some = [&] {
      std::map<int, Unnoticed> unnoticed;
      std::map<int, Trail> trails;
      for (std::int64_t calls = some_calls(); calls > 0 && !place_.tally.is_over; --calls) {
        const int tag = some_tag();
        Ledger::Order& order_of = is_shared ? order_of_tag(tag) : own_orders[name_of(tag)];
        SegmentTag handle;
        int drawn_from = 0;
        const bool is_about_names = scenario().is_about_names();
        const bool was_noted = is_about_names && is_noted();
        if (try_to_open(allocator, tag, handle) &&
            draw(handle, options.timeout, tag, order_of, !is_shared, drawn_from)) {
          if (scenario().takes_time) require_noticed(unnoticed[tag], drawn_from);
          if (is_about_names) require_no_return(trails[tag], drawn_from, was_noted);
        }
        think();
      }
    };
    in_some_threads(draw_some);
    if (scenario().subject == Subject::away && !is_shared) require_used_up();
    if (!outlives_the_faults()) return;
    const int tag = some_tag();
    probe(place_.tally.patience_ends, [&] {
      Ledger::Order& order_of = is_shared ? order_of_tag(tag) : own_orders[name_of(tag)];
      const Ledger::Call begun = Ledger::begin(&order_of);
      const std::int64_t id = allocator.tag(TagName(name_of(tag))).next();
      note(begun, tag, {id, id + 1}, !is_shared);
    });
  }

  /// What one store has granted this program is drawn one range after the other.
  void require_used_up() const {
    for (int store = 0; store < 2; ++store) {
      if (place_.ledger.begun_ranges(0, number(), store) > 1)
        place_.ledger.fail(fmt::format("process {} has given up what store {} granted it", number(), store));
    }
  }

  /// As the builtin of a shell, which waits for nothing, and has `leafctl next` do what is not in memory.
  void draw_from_memory() const {
    SegmentOptions options = segment_options(true, false);
    options.timeout = milliseconds::zero();
    Unnoticed unnoticed;
    for (std::int64_t calls = some_calls(); calls > 0 && !place_.tally.is_over; --calls) {
      SegmentAllocator allocator(store_options(), options);
      SegmentTag handle;
      if (!try_to_open(allocator, 0, handle)) return;
      ++place_.tally.calls;
      const Ledger::Call begun = Ledger::begin(&order_of_tag(0));
      std::int64_t id = 0;
      if (!handle.is_check_due() && !handle.is_fetch_due() && handle.try_next(id)) {
        require_noticed(unnoticed, note(begun, 0, {id, id + 1}, false));
      } else {
        unnoticed = {};
        make_program(place_, [](const Actor& leafctl) { leafctl.draw_once(); });
      }
      think();
    }
  }

  /// As `leafctl next` does: the child that fetches is another process.
  void draw_once() const {
    const int tag = some_tag();
    const Time began = Scheduler::the().now();
    const std::int64_t clock_sets = host().clock_sets;
    const bool was_answer_ahead = is_answer_ahead();
    const SegmentOptions options = segment_options(true, false);
    SegmentAllocator allocator(store_options(), options);
    SegmentTag handle;
    if (!try_to_open(allocator, tag, handle)) return;
    int drawn_from = 0;
    if (draw(handle, options.timeout, tag, order_of_tag(tag), false, drawn_from, false) &&
        scenario().takes_time && options.timeout > milliseconds::zero())
      require_checked(began, was_answer_ahead && host().clock_sets == clock_sets, drawn_from);
    try_to("claim", [&] {
      if (without_retry([&] { return handle.claim_fetch(); }))
        make_program(place_, [tag](const Actor& child) { child.fetch(tag); });
    });
  }
  void fetch(int tag) const {
    try_to("fetch", [&] {
      SegmentAllocator allocator(store_options(), segment_options(true, false));
      allocator.tag(TagName(name_of(tag))).fetch();
    });
  }
  void draw_directly() const {
    Store store(marked_store());
    for (std::int64_t calls = random().spread(1, 6); calls > 0 && !place_.tally.is_over; --calls) {
      const int tag = some_tag();
      call("next --direct", [&] {
        const Ledger::Call begun = Ledger::begin(&order(0, name_of(tag)));
        const std::int64_t count = scenario().draws_singly ? 1 : random().spread(1, 30);
        const Grant grant = store.grant(TagName(name_of(tag)), count);
        note(begun, tag, grant.range, true);
      });
      think();
    }
  }

  void draw_snowflakes(bool is_shared, bool is_pinned) const {
    SnowflakeOptions options = snowflake_options(is_shared, true);
    if (is_pinned) options.worker.worker = host().number % 2;
    if (!is_shared) options.release_at_end = random().one_in(3);
    ++place_.tally.calls;
    try_to("a generator", [&] {
      SnowflakeGenerator generator(is_shared ? store_options() : marked_store(), options);
      if (!is_shared && scenario().other_layout) place_.ledger.note_layout(number(), generator.layout());
      Ledger::Order own_order;
      Ledger::Order& order_of =
          is_shared ? order(host().number, owner_of(host()) + (is_pinned ? " pinned" : "")) : own_order;
      const auto draw_some = [&] {
        for (std::int64_t calls = some_calls(); calls > 0 && !place_.tally.is_over; --calls) {
          draw(generator, options.timeout, order_of, !is_shared);
          think();
        }
      };
      in_some_threads(draw_some);
      // Where workers are scarce, others may hold them all.
      if (is_pinned || !scenario().has_many_workers()) return;
      // Nor is a window of use that begins too late for each call.
      const bool is_too_hasty =
          scenario().subject == Subject::units && options.timeout < 2 * scenario().longest_unit();
      if (is_too_hasty || !outlives_the_faults()) return;
      probe(place_.tally.patience_ends, [&] {
        const Ledger::Call begun = Ledger::begin(&order_of);
        const std::int64_t id = generator.next();
        note(generator.layout().ordered_by_time() ? begun : Ledger::Call{.order = nullptr},
             Ledger::snowflakes, {id, id + 1}, !is_shared, &generator.layout());
      });
    });
  }

  /// Each is made where the one before it was.
  void draw_from_successors() const {
    const SnowflakeOptions options = snowflake_options(false, true);
    for (int more = 6; more > 0 && !place_.tally.is_over; --more) {
      try_to("a generator", [&] {
        SnowflakeGenerator generator(marked_store(), options);
        Ledger::Order own_order;
        if (random().one_in(2)) draw(generator, options.timeout, own_order, true);
      });
    }
  }

  void draw_one_snowflake() const {
    ++place_.tally.calls;
    try_to("a generator", [&] {
      const SnowflakeOptions options = snowflake_options(true, false);
      SnowflakeGenerator generator(store_options(), options);
      draw(generator, options.timeout, order(host().number, owner_of(host())), false);
      if (without_retry([&] { return generator.claim_fetch(); }))
        make_program(place_, [](const Actor& child) { child.renew(); });
    });
  }
  void renew() const {
    try_to("renew", [&] { SnowflakeGenerator(store_options(), snowflake_options(true, false)).fetch(); });
  }

  void use_marks() const {
    MarkUser user(place_.tally.marked, process_, place_.ledger, place_.log);
    in_some_threads([&] {
      for (std::int64_t calls = some_calls(); calls > 0 && !place_.tally.is_over; --calls) {
        ++place_.tally.calls;
        user.act();
        think();
      }
    });
  }

  void run(ActorKind kind) const {
    switch (kind) {
      case ActorKind::host_segments:
        return draw_segments(true);
      case ActorKind::short_segments:
        return draw_once();
      case ActorKind::own_segments:
        return draw_segments(false);
      case ActorKind::direct:
        return draw_directly();
      case ActorKind::host_snowflakes:
        return draw_snowflakes(true, false);
      case ActorKind::short_snowflakes:
        return draw_one_snowflake();
      case ActorKind::own_snowflakes:
        return draw_snowflakes(false, false);
      case ActorKind::pinned_snowflakes:
        return draw_snowflakes(true, true);
      case ActorKind::marks:
        return use_marks();
      case ActorKind::successors:
        return draw_from_successors();
      case ActorKind::memory_segments:
        return draw_from_memory();
      case ActorKind::own_segment_threads:
      case ActorKind::host_segment_threads:
        return run_threads(place_, process_, kind);
      case ActorKind::own_window_threads:
      case ActorKind::host_window_threads:
        return run_window_threads(place_, process_, kind);
      case ActorKind::clock_users:
        return run_clock_user(place_, process_);
      case ActorKind::outage_users:
        return run_outage_user(place_, process_);
      case ActorKind::segment_holders:
        return run_segment_holder(place_, process_);
      case ActorKind::window_holders:
        return run_window_holder(place_, process_);
    }
  }

  // Once all faults have ended.

  /// Whether this program, which has been there all the time, has to get IDs from what it has open.
  bool outlives_the_faults() const {
    if (!place_.tally.is_over || scenario().draws_singly || !random().one_in(2)) return false;
    if (scenario().other_layout) return false;  // it makes none in another layout
    ++place_.tally.probes;
    return true;
  }
  void probe_tag(int tag, Time deadline) const {
    probe(deadline, [&] {
      SegmentOptions options = segment_options(true, false);
      options.timeout = probe_timeout;
      share(options, false);
      SegmentAllocator allocator(store_options(), options);
      SegmentTag handle = allocator.tag(TagName(name_of(tag)));
      const Ledger::Call begun = Ledger::begin(&order_of_tag(tag));
      const std::int64_t id = handle.next();
      note(begun, tag, {id, id + 1}, false);
    });
  }
  void probe_snowflakes(Time deadline) const {
    probe(deadline, [&] {
      SnowflakeOptions options = snowflake_options(true, false);
      options.timeout = std::max(probe_timeout, 2 * scenario().longest_unit());
      share(options, false);
      // Rather than wait for an hour.
      options.worker.recycle_after = milliseconds(1000);
      SnowflakeGenerator generator(store_options(), options);
      const Ledger::Call begun = Ledger::begin(&order(host().number, owner_of(host())));
      const std::int64_t id = generator.next();
      note(generator.layout().ordered_by_time() ? begun : Ledger::Call{.order = nullptr}, Ledger::snowflakes,
           {id, id + 1}, false, &generator.layout());
    });
  }
  /// From windows of its own: what is left of the last is not wasted.
  void probe_own_snowflakes(Time deadline) const {
    probe(deadline, [&] {
      SnowflakeOptions options = snowflake_options(false, false);
      options.timeout = std::max(probe_timeout, 2 * scenario().longest_unit());
      {
        SnowflakeGenerator generator(marked_store(), options);
        const std::int64_t id = generator.next();
        note({.order = nullptr}, Ledger::snowflakes, {id, id + 1}, true, &generator.layout());
      }
      if (!place_.ledger.has_given_back(number()))
        place_.ledger.fail(fmt::format("process {} ended and kept the rest of its window", number()));
    });
  }

 private:
  template <typename Work>
  void probe(Time deadline, Work work) const {
    Scheduler& scheduler = Scheduler::the();
    // Most get one at once, or after the 20 minutes that follow a failover: to ask all the time makes none
    // come earlier.
    for (Time pause = minute; scheduler.now() < deadline; pause *= 3) {
      try {
        work();
        ++place_.tally.good_probes;
        return;
      } catch (const Error& error) {
        place_.tally.last_error = error.what();
        place_.log.note("failed", number(), static_cast<int>(error.code()));
        place_.log.say("probe", number(), std::string(error.what()) + "; " + error.hint());
        try_to("remedy", [&] { follow(error); });
      }
      scheduler.sleep_until(scheduler.now() + pause);
    }
  }

  /// As the hint of `error` says, and then as the hint of what that meets.
  void follow(const Error& error) const {
    std::optional<Error> met;
    try {
      take_remedies(error);
    } catch (const Error& another) {
      met = another;
    }
    if (met) take_remedies(*met);
  }
  void take_remedies(const Error& error) const {
    const HostOptions options = host_options(false);
    if (error.sqlstate() == "LF001") {  // its hint is the database's own: to raise the limit
      Store store(store_options_with_marks());
      for (const Tag& tag : store.tags()) {
        TagChange change;
        change.remove_limit = true;
        if (tag.limit) store.update_tag(TagName(tag.name), change);
      }
    }
    for (const Remedy& remedy : error.remedies()) {
      Store store(store_options_with_marks());
      if (remedy.kind == Remedy::Kind::release_workers) {
        store.release_workers(owner_of(host()));
        drop_host_windows_ahead(store.identity(), options, owner_of(host()), {}, scenario().max_backward,
                                milliseconds(5000), host_clock());
        order(host().number, owner_of(host())) = {.life = order(host().number, owner_of(host())).life + 1};
      } else if (remedy.kind == Remedy::Kind::raise_tag) {
        TagChange change;
        change.raise_to = remedy.number;
        // Where a limit is in the way, the refusal names it.
        const auto limit = store.tag(TagName(remedy.name)).limit;
        change.remove_limit = limit && *limit < *change.raise_to - 1;
        store.update_tag(TagName(remedy.name), change);
      } else if (remedy.kind == Remedy::Kind::change_limit) {
        TagChange change;
        change.remove_limit = true;
        store.update_tag(TagName(remedy.name), change);
      } else if (remedy.kind == Remedy::Kind::add_tag) {
        NewTag tag{.name = TagName(remedy.name)};
        tag.start = remedy.number;
        store.add_tag(tag);
      }
    }
  }
  static StoreOptions store_options_with_marks() {
    StoreOptions store = store_options();
    store.marks = host_marks(host_options(false));
    return store;
  }

  const Place place_;
  Process& process_;
};

Process& make_program(const Place& place, std::function<void(const Actor&)> work) {
  Process& process = Scheduler::the().make_process(place.host);
  place.host.processes.push_back(&process);
  ++place.tally.processes;
  Scheduler::the().start(process, [place, &process, work = std::move(work)] {
    place.log.note("begins", process.number);
    work(Actor(place, process));
    place.log.note("ends", process.number);
  });
  return process;
}

}  // namespace

Process& launch(const Place& place, ActorKind kind) {
  place.log.note("start", place.host.number, static_cast<std::int64_t>(kind));
  return make_program(place, [kind](const Actor& actor) { actor.run(kind); });
}

void start_probes(const Place& place, Time deadline) {
  Random& random = Scheduler::the().random();
  const int tag = static_cast<int>(random.below(place.scenario.tags));
  const bool is_own = place.scenario.has_many_workers() && random.one_in(2);
  make_program(place, [tag, deadline](const Actor& actor) { actor.probe_tag(tag, deadline); });
  make_program(place, [is_own, deadline](const Actor& actor) {
    is_own ? actor.probe_own_snowflakes(deadline) : actor.probe_snowflakes(deadline);
  });
  place.tally.probes += 2;
}

HostOptions host_options(bool fetch_ahead) {
  HostOptions options;
  options.folder = "/run/leaf";
  options.store_key = "simulated";  // the variables of this machine's are not
  options.fetch_ahead = fetch_ahead;
  return options;
}

StoreOptions store_options() {
  StoreOptions options;
  options.url = "postgresql://store/ids";
  options.program = "simulate";
  options.clock = &host_clock();
  return options;
}

std::string owner_of(const Host& host) {
  return "host" + std::to_string(host.number);
}

}  // namespace leaf::simulation
