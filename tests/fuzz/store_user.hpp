#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"

namespace leaf::fuzz {

/// Time that passes for whoever waits, so that nobody waits for long.
class PassingClock : public test::ManualClock {
 public:
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&,
                  std::chrono::steady_clock::time_point deadline) override {
    advance(
        std::max<std::chrono::steady_clock::duration>(deadline - steady_now(), std::chrono::microseconds(1)));
  }
};

/// A host that uses stores which say what they like. It remembers what it was granted, so whatever they say,
/// no ID of a deployment comes twice, or before one that came.
class StoreUser {
 public:
  StoreUser() : home_(std::make_unique<test::TemporaryFolder>("/dev/shm")) {}

  /// Calls what the fuzzer chooses; each call succeeds or throws an Error.
  void use(Choices& choices, const std::string& url) {
    if (++uses_ % 500 == 0) forget();  // files for each deployment that was ever named
    clock_.advance(std::chrono::minutes(11));
    options_.url = url;
    options_.clock = &clock_;
    options_.timeout = std::chrono::milliseconds(100);
    Store store(options_);
    for (int i = 0; i < 12 && choices.are_left(); ++i) {
      const std::size_t choice = choices.below(32);
      if (attempt([&] { call(choice, choices, store); })) continue;
      if (choices.below(4) == 0) store = Store(options_);
    }
    attempt([&] { draw(choices); });
  }

  /// Begins with a folder of its own that is empty.
  void forget() {
    home_ = std::make_unique<test::TemporaryFolder>("/dev/shm");
    ledger_.clear();
  }
  /// Leaves nothing behind.
  void leave() { home_.reset(); }

 private:
  template <class Call>
  static bool attempt(Call call) {
    try {
      call();
      return true;
    } catch (const Error& error) {
      require(*error.what() != '\0', "a refusal has a text");
      require(error.code() >= ErrorCode::failed && error.code() <= ErrorCode::exhausted,
              "a refusal has a status");
      return false;
    }
  }

  HostOptions host_options() const {
    return {.folder = (home_->path() / "run").string(), .fetch_ahead = false};
  }
  void call(std::size_t choice, Choices& choices, Store& store) {
    const TagName name(choices.flag() ? "order" : "short");
    switch (choice) {
      case 0:
      case 24:
      case 25:
        return draw(choices);
      case 1:
      case 26:
      case 27:
      case 28:
      case 29:
        return draw_snowflakes(choices);
      case 2:
        return draw_directly(choices, store, name);
      case 3:
        for (const Tag& tag : store.tags()) static_cast<void>(supply_of(tag).is_low());
        return;
      case 4:
        return static_cast<void>(store.tag(name));
      case 5:
        return static_cast<void>(store.similar_tags(name));
      case 6:
        return static_cast<void>(store.lost_tags());
      case 7:
        return static_cast<void>(store.workers());
      case 8:
        return static_cast<void>(store.events());
      case 9:
        return static_cast<void>(store.health());
      case 10:
        return static_cast<void>(store.layout());
      case 11:
        return static_cast<void>(store.worker_range());
      case 12:
        return static_cast<void>(store.add_tag({.name = name, .start = choices.number()}));
      case 13:
        return static_cast<void>(store.update_tag(name, {.raise_to = choices.number()}));
      case 14:
        return store.remove_tag(name);
      case 15:
        return static_cast<void>(store.identity());
      case 16:
        return static_cast<void>(store.migration_script());
      case 17:
        return static_cast<void>(store.end_of_removed(name));
      case 18:
        return static_cast<void>(store.failover());
      case 19:
        return static_cast<void>(store.guard_steps());
      case 20:
        return static_cast<void>(store.release_workers("fuzzer"));
      case 21:
        return static_cast<void>(store.recycle_silent_workers(std::chrono::hours(1)));
      case 22:
        return store.set_worker_range(WorkerRange{choices.number(), choices.number()});
      default:
        return store.set_layout(
            Layout::parse(choices.flag() ? "leaf" : "time:39,worker:16,sequence:8/10ms@0"));
    }
  }

  /// What was drawn of one tag or worker of a deployment.
  struct Drawn {
    std::map<std::int64_t, std::int64_t> ends;  ///< of ranges that do not touch, by their beginnings
    std::int64_t last = -1;                     ///< from the host's buffer
  };

  /// Nobody had any of these before; those from a buffer come behind all that it gave.
  void drawn(const std::string& from, Range ids, bool is_from_buffer) {
    require(ids.lo < ids.hi && ids.lo >= 0, "IDs are not negative");
    Drawn& known = ledger_[from];
    auto next = known.ends.upper_bound(ids.lo);
    require(next == known.ends.end() || next->first >= ids.hi, "no ID comes twice",
            std::to_string(ids.hi - 1));
    const auto before = next == known.ends.begin() ? known.ends.end() : std::prev(next);
    require(before == known.ends.end() || before->second <= ids.lo, "no ID comes twice",
            std::to_string(ids.lo));
    if (before != known.ends.end() && before->second == ids.lo) {
      before->second = ids.hi;
    } else {
      known.ends.emplace(ids.lo, ids.hi);
    }
    if (!is_from_buffer) return;
    require(ids.lo > known.last, "no ID comes before one that came",
            std::to_string(ids.lo) + " after " + std::to_string(known.last));
    known.last = ids.hi - 1;
  }
  /// A tag of a deployment.
  static std::string key(const StoreIdentity& store, const std::string& tag) {
    return store.deployment + "\n" + tag;
  }

  void draw(Choices& choices) {
    SegmentAllocator allocator(options_, {.timeout = std::chrono::milliseconds(100), .host = host_options()});
    for (const char* const name : {"order", "short"}) {
      attempt([&] {
        SegmentTag tag = allocator.tag(TagName(name));
        for (const Range range : tag.next_ranges(1 + choices.below(40)))
          drawn(key(tag.store(), name), range, true);
        static_cast<void>(tag.supply());
        if (choices.flag()) tag.fetch();
      });
    }
  }

  void draw_directly(Choices& choices, Store&, const TagName& name) {
    StoreOptions options = options_;
    options.marks = host_marks(host_options());
    Store store(options);
    const Grant grant = choices.flag() ? store.grant(name, 1 + static_cast<std::int64_t>(choices.below(20)))
                                       : store.grant_segment(name, 5);
    drawn(key(grant.store, name.str()), grant.range, false);
  }

  void draw_snowflakes(Choices& choices) {
    SnowflakeOptions options;
    options.worker.owner = "fuzzer";
    options.timeout = std::chrono::milliseconds(100);
    options.host = host_options();
    SnowflakeGenerator generator(options_, options);
    for (std::size_t i = choices.below(4); i > 0; --i) {
      const std::int64_t id = generator.next();
      const Layout& layout = generator.layout();
      require(layout.holds(id) && layout.worker_of(id) == generator.worker(),
              "an ID is of the layout and the worker");
      if (layout.ordered_by_time())
        drawn(key(generator.store(), layout.text() + "\n" + std::to_string(generator.worker())), {id, id + 1},
              true);
      if (choices.flag()) generator.fetch();
      clock_.advance(std::chrono::milliseconds(1) * choices.below(200));
    }
  }

  PassingClock clock_;
  StoreOptions options_;
  std::unique_ptr<test::TemporaryFolder> home_;
  std::map<std::string, Drawn> ledger_;
  std::size_t uses_ = 0;
};

}  // namespace leaf::fuzz
