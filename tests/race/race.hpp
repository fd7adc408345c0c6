#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "bench/record.hpp"
#include "bench/shared_array.hpp"
#include "bench/verify.hpp"
#include "leaf/error.hpp"
#include "leaf/range.hpp"

namespace leaf::test {

/// What all processes of a race share. Each on a cache line of its own, so that the checks slow nobody down.
struct RaceBoard {
  alignas(64) std::atomic<bool> over{false};
  alignas(64) std::atomic<std::int64_t> newest{leafctl::IdCheck::none};         ///< of the racers
  alignas(64) std::atomic<std::int64_t> rivals_newest{leafctl::IdCheck::none};  ///< of the rival
};

/// What one process does in a race. It lives on when the process is killed and another takes its place.
struct alignas(64) RaceRecord {
  std::atomic<std::uint64_t> ids{0};
  std::atomic<std::uint64_t> starts{0};
  leafctl::Violations violations;
  leafctl::FailureRecord failure;
};

/// A process in a race, as seen by itself.
class Racer {
 public:
  Racer(RaceBoard& board, RaceRecord& record, leafctl::SeenIds& seen, std::atomic<std::int64_t>& newest)
      : board_(board), record_(record), check_(seen, newest), random_(std::random_device{}()) {}

  bool is_over() const noexcept { return board_.over.load(std::memory_order_relaxed); }

  /// Calls `draw`, which returns an ID, a span of IDs, a Range or Ranges, and checks what it gives: no ID was
  /// seen before, and each is above all whose calls had ended when this one began.
  template <class Draw>
  void call(Draw draw) {
    const std::int64_t floor = check_.newest();
    check(floor, draw());
  }

  /// The newest ID that one of the processes in the race has drawn.
  std::int64_t newest_of_racers() const noexcept { return board_.newest.load(std::memory_order_relaxed); }

  /// 1 to `most`.
  std::uint64_t random(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(1, most)(random_);
  }

 private:
  void check(std::int64_t floor, std::int64_t id) {
    check_.check(floor, id, record_.violations);
    count(1);
  }
  void check(std::int64_t floor, std::span<const std::int64_t> ids) {
    check_.check(floor, ids, record_.violations);
    count(ids.size());
  }
  void check(std::int64_t floor, Range ids) {
    check_.check(floor, ids, record_.violations);
    count(ids.size());
  }
  void check(std::int64_t floor, const std::vector<Range>& ranges) {
    for (const Range range : ranges) {
      check(floor, range);
      floor = range.hi - 1;
    }
  }
  void count(std::uint64_t ids) noexcept {
    record_.ids.store(record_.ids.load(std::memory_order_relaxed) + ids, std::memory_order_relaxed);
    if (record_.violations.count() > 0) board_.over.store(true, std::memory_order_relaxed);
  }

  RaceBoard& board_;
  RaceRecord& record_;
  leafctl::IdCheck check_;
  std::minstd_rand random_;
};

struct RaceResult {
  std::uint64_t ids = 0;
  std::uint64_t rivals_ids = 0;
  std::int64_t newest = 0;  ///< the highest that a racer drew
  int stops = 0;
  int kills = 0;
  leafctl::Violations violations;
  std::optional<Error> failure;  ///< of any process
};

/// Processes that draw from one buffer at once, while they are stopped, woken and killed at random every few
/// milliseconds; for one that was killed another is started. To be run in a process of one thread that has
/// no connection to a store.
class Race {
 public:
  using Body = std::function<void(Racer&)>;

  /// `covered`: the IDs that may be drawn. `body` draws until the race is over.
  Race(int processes, Range covered, Body body);
  /// Adds a process that draws elsewhere and is left alone. None of its IDs may be drawn by another.
  void add_rival(Body body) { rival_ = std::move(body); }

  /// Returns when the racers have drawn that many IDs, or something was wrong, and all have ended.
  RaceResult run(std::uint64_t ids);

 private:
  struct Runner {
    pid_t process = 0;
    bool stopped = false;
  };

  void start(std::size_t number);
  pid_t fork_racer(const Body& body, RaceRecord& record, std::atomic<std::int64_t>& newest);
  void disturb_one();
  void end(Runner& runner);
  std::uint64_t drawn();
  RaceResult result();

  Body body_;
  Body rival_;
  leafctl::SeenIds seen_;
  leafctl::SharedArray<RaceBoard> board_{1};
  leafctl::SharedArray<RaceRecord> records_;  ///< the rival's is the last
  std::vector<Runner> runners_;
  std::minstd_rand random_{std::random_device{}()};
  int stops_ = 0;
  int kills_ = 0;
  std::optional<Error> lost_;
};

}  // namespace leaf::test
