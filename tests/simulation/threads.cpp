#include "simulation/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/shared_state.hpp"
#include "leaf/segment.hpp"
#include "range/range_source.hpp"
#include "simulation/arena.hpp"
#include "simulation/point.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

/// How one thread draws.
enum class Way : std::uint8_t { waits, pieces, many, tries, tries_pieces, tries_runs, fetches, answers };

/// A call that the buffer may serve asks for no longer where the store's name leads.
constexpr milliseconds look_patience{250};
/// How often that is asked: so long an answer counts, and so often it is looked whether one is wanted.
constexpr Time answer_lasts = 30 * second, looked_at_every = second;
/// Where nobody else asks either, for one who has claimed to and ended since.
constexpr Time name_claim_lasts = 10 * second;

/// While it lives nobody else runs.
class NoPoints {
 public:
  NoPoints() : left_(std::exchange(points_left, std::numeric_limits<std::int64_t>::max())) {}
  ~NoPoints() { points_left = left_; }
  NoPoints(const NoPoints&) = delete;
  NoPoints& operator=(const NoPoints&) = delete;

 private:
  const std::int64_t left_;
};

/// They draw IDs of tags.
class SegmentThreads final : WatchedProgram {
 public:
  SegmentThreads(const Place& place, Process& process, bool is_shared) : WatchedProgram(place, process) {
    is_shared_ = is_shared;
  }

  void run() {
    options_.timeout = some_timeout();
    options_.max_step = options_.max_starved_step.emplace(scenario().max_step);
    options_.max_connections = connections_ = static_cast<int>(random().between(1, 2));
    if (is_shared_) options_.host = host_options(true);
    note_timeout(options_.timeout);
    keeps_to_pauses_ = options_.timeout != milliseconds::zero();
    const bool throws = random().one_in(4);
    options_.on_fetch_failure = [this, throws](const TagName&, const Error& error) {
      has_failed_for_good_ = has_failed_for_good_ || !error.retryable();
      if (throws) throw std::runtime_error("of the program's own");
    };
    SegmentAllocator allocator(store_options(), options_);
    allocator_ = &allocator;
    const int threads = own_threads_ = some_threads();
    is_alone_ = threads == 1;
    choose_ways(threads);
    begun_ = now();
    in_threads(threads, [this](int thread) { draw(ways_[static_cast<std::size_t>(thread)]); });
    require_few_connections();
    if (is_shared_) {
      require_few_files();
      require_few_questions();
    } else {
      require_thrift();
    }
    place_.tally.program_ended_at = now();
    allocator_ = nullptr;
  }

 private:
  bool is_about(Subject subject) const { return scenario().subject == subject; }
  int some_threads() const {
    if (is_about(Subject::solos)) return 1;
    if (is_about(Subject::crowds)) return static_cast<int>(random().between(3, 8));
    if (is_about(Subject::moves)) return static_cast<int>(random().between(1, scenario().lasts ? 2 : 4));
    return static_cast<int>(random().between(1, random().one_in(4) ? 8 : 4));
  }
  void choose_ways(int threads) {
    ways_.clear();
    const bool are_alike = random().one_in(3), never_waits = random().one_in(3);
    for (int i = 0; i < threads; ++i)
      ways_.push_back(are_alike && i > 0 ? ways_.front() : some_way(never_waits));
    if (is_about(Subject::threads)) return;
    // A fetch beside who waits may be in vain.
    constexpr std::array wait{Way::waits, Way::pieces};
    constexpr std::array fetch{Way::fetches, Way::tries, Way::tries_pieces};
    const bool fetches = random().one_in(3), answers = is_shared_ && random().one_in(3);
    for (Way& way : ways_) {
      const auto pick = static_cast<std::size_t>(random().below(6));
      way = fetches ? fetch[pick % fetch.size()] : wait[pick % wait.size()];
      if (is_about(Subject::moves) && answers && pick < 3) way = Way::answers;
    }
  }
  /// For who has but one thread.
  Way another_way() const {
    constexpr std::array ways{Way::many, Way::many, Way::many, Way::tries_runs, Way::pieces, Way::waits};
    return ways[static_cast<std::size_t>(random().below(std::ssize(ways)))];
  }
  Way some_way(bool never_waits) const {
    constexpr std::array ways{Way::tries, Way::tries_pieces, Way::fetches, Way::tries_runs,
                              Way::waits, Way::pieces,       Way::many};
    return ways[static_cast<std::size_t>(random().below(never_waits ? 3 : std::ssize(ways)))];
  }
  milliseconds some_timeout() const {
    constexpr std::array<int, 7> timeouts{0, 200, 1000, 1000, 5000, 5000, 5000};
    if (is_about(Subject::moves)) return milliseconds(5000);
    if (scenario().slowness > 10 * millisecond) return milliseconds(random().one_in(2) ? 1000 : 5000);
    if (random().one_in(is_about(Subject::solos) ? 4 : 16)) return milliseconds(100'000);
    return milliseconds(timeouts[static_cast<std::size_t>(random().below(timeouts.size()))]);
  }
  const std::string& name_of(int tag) const { return Server::the().tag_names[static_cast<std::size_t>(tag)]; }
  Ledger::Order* order_of(int tag) {
    if (is_shared_)
      return place_.host.folders_removed_at != 0 ? nullptr
                                                 : &place_.tally.orders[{place_.host.number, name_of(tag)}];
    return &own_orders_[tag];
  }

  int note(Ledger::Call call, int tag, Range ids, Time begun) {
    place_.log.note(name_of(tag), process_.number, ids.lo, ids.hi);
    const int store =
        place_.ledger.drawn(call, tag, ids, place_.host.number, is_shared_ ? 0 : process_.number);
    place_.tally.drawn_at[{is_shared_ ? 0 : process_.number, name_of(tag)}] = now();
    require_left(begun);
    require_asked();
    return store;
  }
  /// While what the host has is drawn, it is asked where the store's name leads as often as promised.
  void require_asked() {
    if (!is_about(Subject::moves) || !is_shared_ || !scenario().lasts || !scenario().is_brisk) return;
    const Time asked = Server::the().asked_at(place_.host.number);
    if (now() - asked <= answer_lasts || now() - place_.tally.program_ended_at < 2 * answer_lasts) {
      unasked_since_ = 0;
    } else if (unasked_since_ == 0) {
      unasked_since_ = now();
      waited_when_unasked_ = process_.kept_waiting;
    } else if (now() - unasked_since_ - (process_.kept_waiting - waited_when_unasked_) >
               looked_at_every + until_it_ends) {
      fail(fmt::format("draws, and nobody has asked for {} ms where the name leads",
                       (now() - asked) / millisecond));
    }
  }
  /// Who draws looks each second whether the file is still there, also while the store does not answer.
  void require_left(Time begun) const {
    const Time removed_at = place_.host.folders_removed_at;
    if (!is_shared_ || removed_at == 0 || place_.ledger.last_granted_at() >= removed_at ||
        !scenario().is_brisk)
      return;
    const Time late = begun - removed_at - (process_.kept_waiting - waited_at_removal_);
    if (late > until_noticed + second)
      fail(fmt::format("draws from a file that was removed {} ms ago", (begun - removed_at) / millisecond));
  }

  void draw(Way way) {
    const std::int64_t most = scenario().lasts ? 100'000 : random().between(3, 16);
    for (std::int64_t calls = most; calls > 0 && !is_over(); --calls) {
      const int tag = static_cast<int>(random().below(scenario().tags));
      if (is_about(Subject::solos)) way = another_way();
      SegmentTag handle;
      const Time begun = now(), kept_waiting = process_.kept_waiting;
      const int times_stopped = process_.times_stopped;
      const bool may_look = options_.timeout != milliseconds::zero() && is_shared_;
      // Others may look at the same time.
      if (!call(
              name_of(tag), may_look ? std::min(options_.timeout, look_patience) : options_.timeout,
              [&] { handle = allocator_->tag(TagName(name_of(tag))); },
              /*is_patient=*/false, may_look ? 2 : 1))
        continue;
      draw(handle, way, tag);
      if (way == Way::pieces && process_.times_stopped == times_stopped)
        require_opened_in_time(now() - begun - (process_.kept_waiting - kept_waiting));
      think();
    }
  }

  /// To open a tag, and to draw from it, takes little longer than to draw.
  void require_opened_in_time(Time waited) const {
    constexpr Time to_look_where_the_name_leads = 250 * millisecond;
    require_in_time(options_.timeout, 1, waited - to_look_where_the_name_leads);
  }

  void draw(SegmentTag& handle, Way way, int tag) {
    place_.log.note(is_shared_ ? "draws from the host's" : "draws from its own", process_.number, tag,
                    static_cast<int>(way));
    const Ledger::Call begin = Ledger::begin(order_of(tag));
    const Time begun = now();
    const std::int64_t count = random().spread(1, is_about(Subject::crowds) ? 8 : 30);
    const std::uint64_t changes = handle.store_changes();
    draw(handle, way, tag, begin, begun, count);
    if (!scenario().has_another_store && handle.store_changes() != changes)
      fail("is told of another store, where there is none");
  }
  void draw(SegmentTag& handle, Way way, int tag, const Ledger::Call& begin, Time begun, std::int64_t count) {
    switch (way) {
      case Way::answers:
        return answer(handle, tag, begin, begun);
      case Way::waits:
        for (std::int64_t i = 0; i < count; ++i) {
          const Ledger::Call one = Ledger::begin(order_of(tag));
          const Time one_begun = now();
          std::int64_t id = 0;
          if (!call(name_of(tag), options_.timeout, [&] { id = handle.next(); })) return;
          note(one, tag, {id, id + 1}, one_begun);
        }
        return;
      case Way::pieces: {
        Range ids;
        if (call(name_of(tag), options_.timeout,
                 [&] { ids = handle.next_range(static_cast<std::uint64_t>(count)); }))
          note(begin, tag, ids, begun);
        return;
      }
      case Way::many:
        return draw_many(handle, tag, begin, count);
      case Way::tries:
        // The quick one does not go to the next segment.
        return try_until_served(tag, /*asks_again=*/true, [&] {
          std::int64_t id = 0;
          return handle.try_next(id) ? Range{id, id + 1} : handle.try_next_range(1);
        });
      case Way::tries_pieces:
        return try_until_served(tag, /*asks_again=*/true,
                                [&] { return handle.try_next_range(static_cast<std::uint64_t>(count)); });
      case Way::tries_runs:
        return draw_runs(handle, tag, count);
      case Way::fetches:
        // In the time that the store has, one after the other.
        if (call(
                name_of(tag), is_shared_ ? options_.timeout : StoreOptions().timeout, [&] { handle.fetch(); },
                /*is_patient=*/false, most_waits)) {
          if (const Range ids = handle.try_next_range(1); !ids.empty()) note(begin, tag, ids, begun);
        }
        return;
    }
  }

  /// One answer in several calls, some of which are granted more than is buffered.
  void answer(SegmentTag& handle, int tag, const Ledger::Call& begin, Time begun) {
    const std::uint64_t changes = handle.store_changes();
    std::vector<Range> all;
    bool is_whole = true;
    for (std::int64_t more = random().between(2, 4); more > 0 && is_whole; --more) {
      std::vector<Range> ranges;
      const std::uint64_t wanted =
          random().one_in(2) ? 1 : handle.buffered() + static_cast<std::uint64_t>(random().between(1, 40));
      is_whole = call(
          name_of(tag), options_.timeout, [&] { ranges = handle.next_ranges(wanted); },
          /*is_patient=*/false, most_waits);
      all.insert(all.end(), ranges.begin(), ranges.end());
      may_be_lost(tag) += static_cast<std::int64_t>(wanted);  // where the store changes meanwhile
      if (scenario().has_places() && random().one_in(2))
        sleep(random().spread(microsecond, 100 * millisecond));
    }
    const bool is_of_one = handle.store_changes() == changes;
    std::optional<int> store;
    for (const Range ids : all) {
      const int from = note(begin, tag, ids, begun);
      if (is_of_one && from != store.value_or(from)) fail("has IDs of two stores in one answer");
      store = from;
    }
  }

  /// A call that fails loses nothing, but what it drew while it waited for more than both segments hold.
  void draw_many(SegmentTag& handle, int tag, const Ledger::Call& begin, std::int64_t count) {
    const auto buffered = static_cast<std::int64_t>(handle.buffered());
    if (scenario().step && random().one_in(2)) count = buffered + random().between(1, *scenario().step);
    const bool fits = scenario().step && buffered <= *scenario().step && count <= buffered + *scenario().step;
    const Time begun = now();
    std::vector<Range> ranges;
    const auto draw_all = [&] { ranges = handle.next_ranges(static_cast<std::uint64_t>(count)); };
    if (call(name_of(tag), options_.timeout, draw_all, /*is_patient=*/!is_shared_, most_waits)) {
      for (const Range ids : ranges) note(begin, tag, ids, begun);
      return;
    }
    // Where there were too few all the time, none were taken.
    if (!is_shared_ || buffered >= count || place_.ledger.published_at(tag) >= begun)
      may_be_lost(tag) += count;
    const bool is_alone = is_alone_ && (!is_shared_ || scenario().slots == 1);
    // A limit makes the last segment shorter.
    const bool is_at_end = place_.tally.last_error.find(" is used up") != std::string::npos;
    if (is_alone && (is_shared_ || (fits && !is_at_end)) && is_thrifty() &&
        static_cast<std::int64_t>(handle.buffered()) < buffered)
      fail(fmt::format("lost {} IDs to a call that failed",
                       buffered - static_cast<std::int64_t>(handle.buffered())));
  }

  /// A run that does not fit costs nothing.
  void draw_runs(SegmentTag& handle, int tag, std::int64_t count) {
    // Whole segments: of the rest of one nobody would have the next one fetched.
    const bool are_all = !is_about(Subject::solos) && scenario().step &&
                         std::ranges::count(ways_, Way::tries_runs) == std::ssize(ways_);
    if (are_all) count = *scenario().step;
    const auto try_once = [&] {
      const std::uint64_t before = handle.buffered();
      const Range run = handle.try_next_run(static_cast<std::uint64_t>(count));
      const bool is_alone = is_alone_ && (!is_shared_ || scenario().slots == 1);
      // Nor does one that others were quicker with, but for the rest of the segment before.
      if (!run.empty() || !is_alone) may_be_lost(tag) += count - 1;
      if (!run.empty()) {
        if (static_cast<std::int64_t>(run.size()) != count)
          fail("has a run of another length than it asked for");
      } else if (is_alone && handle.buffered() < before && is_thrifty()) {
        fail(fmt::format("lost {} IDs to a run that did not fit", before - handle.buffered()));
      }
      return run;
    };
    if (are_all) return try_until_served(tag, /*asks_again=*/false, try_once);
    const Ledger::Call begin = Ledger::begin(order_of(tag));
    const Time begun = now();
    if (const Range run = try_once(); !run.empty()) note(begin, tag, run, begun);
  }

  /// Whoever only tries has the next segment fetched too: once its mark is reached, which another process may
  /// have seen to that has ended since, or, where a try `asks_again`, whenever there is nothing.
  template <typename Try>
  void try_until_served(int tag, bool asks_again, Try try_once) {
    ++place_.tally.calls;
    const Time begun = now(), kept_waiting = process_.kept_waiting;
    const int times_stopped = process_.times_stopped;
    constexpr Time longest_try_pause = 100 * millisecond;
    Time pause = millisecond;
    for (;;) {
      const Ledger::Call begin = Ledger::begin(order_of(tag));
      const Time one_begun = now();
      const Range ids = asks_again ? perhaps_without_memory(tag, try_once) : try_once();
      if (!ids.empty()) {
        has_drawn_.insert(tag);
        note(begin, tag, ids, one_begun);
        return;
      }
      if (is_over()) return;
      const bool is_asked_for = !has_failed_for_good_ && place_.host.no_threads_until == 0;
      const bool asks = is_shared_
                            ? asks_again && has_drawn_.contains(tag) && place_.host.folders_removed_at == 0
                            : asks_again || (is_asked_for && has_drawn_.contains(tag));
      const bool is_promised =
          is_soon_served() && asks && process_.times_stopped == times_stopped && !is_limited(tag);
      // Whoever has claimed a fetch may have found no memory for more.
      const Time ready_at =
          std::max({begun, short_of_memory_at_, served_from(name_of(tag))}) + (is_shared_ ? claim_lasts : 0);
      if (is_promised && now() - (process_.kept_waiting - kept_waiting) > ready_at + prompt())
        return fail(fmt::format("only tries, and gets no ID of '{}' for {} ms", name_of(tag),
                                (now() - ready_at) / millisecond));
      if (!asks) {
        // The first segment is asked for by who waits.
        Range first;
        SegmentTag handle = allocator_->tag(TagName(name_of(tag)));
        const Ledger::Call waits = Ledger::begin(order_of(tag));
        const auto wait = [&] {
          first = handle.next_range(static_cast<std::uint64_t>(scenario().step.value_or(1)));
        };
        if (!call(name_of(tag), options_.timeout, wait)) return;
        has_drawn_.insert(tag);
        note(waits, tag, first, one_begun);
        return;
      }
      sleep(pause);
      pause = std::min(2 * pause, longest_try_pause);
    }
  }

  /// Whoever finds no memory to have a segment fetched is told so by that call, and nothing else comes of it.
  template <typename Try>
  Range perhaps_without_memory(int tag, Try try_once) {
    if (is_shared_ || !scenario().may(Fault::shortage) || !random().one_in(8)) return try_once();
    Range ids;
    finds_no_memory = &Scheduler::the().running();
    try {
      ids = try_once();
    } catch (const std::bad_alloc&) {
      constexpr std::int64_t most_drawn = 40;
      may_be_lost(tag) += most_drawn;
      short_of_memory_at_ = now();
    }
    finds_no_memory = nullptr;
    return ids;
  }

  /// A limit keeps IDs from who tries for up to a minute after it was removed, but not once somebody who
  /// waits has had some granted.
  bool is_limited(int tag) const {
    const Time changed_at = Server::the().tags_changed_at();
    const bool is_granted = is_shared_ && place_.ledger.published_at(tag) > changed_at;
    return has_limit(name_of(tag)) || (changed_at != 0 && now() - changed_at < 61 * second && !is_granted);
  }

  /// While nobody is in a call.
  void require_few_connections() const {
    // One thread more than fetch at once looks after what is buffered, and takes its turn in fetching.
    const int most = options_.max_connections * (is_shared_ ? 2 : 1) + 1;
    const int open = Server::the().connections_of(process_.number);
    if (open > most) fail(fmt::format("keeps {} connections, where {} are the most", open, most));
  }

  /// But for those that it may draw from it maps one of each tag, however often that changed hands.
  void require_few_files() const {
    const NoPoints others_wait;  // else the library's own threads unmap what is looked at
    int empty = 0;
    for (std::size_t number = 0; number < process_.mapped.size(); ++number) {
      if (process_.mapped[number] == 0) continue;
      const auto& state =
          *reinterpret_cast<const host::SharedState*>(files_begin + number * host::state_size);
      if (state.header.kind == host::FileKind::tag && state.buffer.published_end() == 0) ++empty;
    }
    const int most = scenario().tags + 2;  // and those who look after them
    if (empty > most) fail(fmt::format("keeps {} empty files, where {} are the most", empty, most));
  }
  /// Threads that begin at once do not ask one after the other where the name leads.
  void require_few_questions() const {
    const Server& server = Server::the();
    if (has_failed_ || !is_soon_served() || server.disturbances() > 0 || server.trouble_until() != 0) return;
    const int asked = server.name_questions(process_.number);
    const int most = scenario().tags + 3 + static_cast<int>((now() - begun_) / name_claim_lasts);
    if (asked > most)
      fail(fmt::format("asked {} times where the name leads, where {} are the most", asked, most));
  }

  bool is_thrifty() const { return is_thrift_promised(scenario()); }

 public:
  /// Whether nothing happens by which IDs may be lost.
  static bool is_thrift_promised(const Scenario& scenario) {
    return scenario.is_brisk && !scenario.may(Fault::kill) && !scenario.may(Fault::stop) &&
           !scenario.may(Fault::remove_folder);
  }

 private:
  /// A range that comes for who waits takes the place of what another thread has fetched meanwhile.
  bool fetches_beside_who_waits() const {
    const auto has = [this](Way way) { return std::ranges::count(ways_, way) > 0; };
    return has(Way::fetches) &&
           (has(Way::waits) || has(Way::pieces) || has(Way::many) || has(Way::tries_runs));
  }
  /// What was granted was drawn, or is in memory.
  void require_thrift() {
    if (!is_thrifty() || fetches_beside_who_waits()) return;
    for (int tag = 0; tag < scenario().tags; ++tag) {
      SegmentTag handle = allocator_->tag(TagName(name_of(tag)));
      const std::int64_t undrawn = place_.ledger.undrawn(tag, process_.number);
      sleep(10 * millisecond);  // what has come is in memory by then
      const auto buffered = static_cast<std::int64_t>(handle.buffered());
      if (scenario().has_another_store) {
        if (std::string what = place_.ledger.left_behind(tag, process_.number); !what.empty()) fail(what);
        continue;
      }
      if (place_.ledger.undrawn(tag, process_.number) == undrawn && undrawn - buffered > may_be_lost(tag))
        fail(fmt::format("has lost {} IDs of '{}', where {} may be", undrawn - buffered, name_of(tag),
                         may_be_lost(tag)));
    }
  }

  /// By calls that may lose what they drew.
  std::int64_t& may_be_lost(int tag) { return is_shared_ ? place_.tally.may_be_lost[tag] : own_losses_[tag]; }

  SegmentOptions options_;
  SegmentAllocator* allocator_ = nullptr;
  std::vector<Way> ways_{};
  std::map<int, Ledger::Order> own_orders_{};
  std::map<int, std::int64_t> own_losses_{};
  std::set<int> has_drawn_{};
  bool has_failed_for_good_ = false;
  Time waited_at_removal_ = 0;
  Time short_of_memory_at_ = 0;
  Time begun_ = 0;
  Time unasked_since_ = 0;  ///< when something was drawn first since that was due
  Time waited_when_unasked_ = 0;
};

std::uint32_t bit(Fault fault) {
  return 1U << static_cast<unsigned>(fault);
}

}  // namespace

void Scenario::keep_to_threads(Random& random) {
  // One trouble at a time, or two: then it can be told how long calls may take.
  constexpr std::array troubles{Fault::outage, Fault::silence,    Fault::row_lock, Fault::shortage,
                                Fault::change, Fault::stop,       Fault::kill,     Fault::remove_folder,
                                Fault::clock,  Fault::still_clock};
  const auto some_trouble = [&] {
    return bit(troubles[static_cast<std::size_t>(random.below(troubles.size()))]);
  };
  faults &= random.one_in(2) ? some_trouble() : some_trouble() | some_trouble();
  hosts = 1;
  tags = static_cast<int>(random.between(1, 4));
  slots = static_cast<int>(random.between(1, 3));
  calls = random.between(16, 100);
  longest = random.spread(5 * second, random.one_in(8) ? 4 * minute : minute);
  network = {};
  is_brisk = !random.one_in(4);
  if (random.one_in(3)) slowness = random.spread(5 * millisecond, 150 * millisecond);
  if (random.one_in(2)) step = max_step = random.spread(4, 40);
  kinds = {random.one_in(2) ? ActorKind::own_segment_threads : ActorKind::host_segment_threads};
  most_faults = random.between(1, 8);
  if (random.one_in(2)) keep_to_window_threads(random);
}

void run_threads(const Place& place, Process& process, ActorKind kind) {
  SegmentThreads(place, process, kind == ActorKind::host_segment_threads).run();
}

bool are_patient(const Place& place) {
  constexpr Time longest_delay = 5 * millisecond;  // of those who run slowly
  return leaves_time_to_fetch(place, place.scenario.slowness + longest_delay);
}

std::string lost_of_host(const Place& place) {
  const ActorKind kind = place.scenario.kinds.front();
  if ((kind != ActorKind::host_segment_threads && kind != ActorKind::segment_holders) ||
      !SegmentThreads::is_thrift_promised(place.scenario) ||
      !leaves_time_to_fetch(place, place.scenario.slowness))
    return {};
  for (int tag = 0; tag < place.scenario.tags; ++tag) {
    const std::string& name = Server::the().tag_names[static_cast<std::size_t>(tag)];
    const auto may_be = place.tally.may_be_lost.find(tag);
    const std::int64_t most = may_be == place.tally.may_be_lost.end() ? 0 : may_be->second;
    if (std::string what = place.ledger.left_behind(tag, 0); most == 0 && !what.empty()) return what;
    std::int64_t lost = place.ledger.undrawn(tag, 0);
    for (const auto& [path, folder] : place.host.folders) {
      for (const auto& [file_name, file] : folder->entries) {
        const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
        if (file->size >= sizeof state && state.header.kind == host::FileKind::tag &&
            name == state.header.name)
          lost -= static_cast<std::int64_t>(range::left_in(state.buffer));
      }
    }
    if (lost > most) return fmt::format("{} IDs of '{}' are lost, where {} may be", lost, name, most);
  }
  return {};
}

}  // namespace leaf::simulation
