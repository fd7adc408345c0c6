#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "relacy_mark_place.hpp"
#include "require_safe.hpp"

using leaf::GrantMarks;
using leaf::MarkHolder;
using leaf::host::MarkPlace;

namespace {

constexpr int forever = 1'000'000;

struct Cells {
  leaf_model::atomic<std::int64_t> end{0};
  leaf_model::atomic<std::uint64_t> holder{0};
  leaf::host::CopyRecords copies;
  leaf::host::CopyHolders copy_holders;

  MarkPlace place() { return {{&end, &holder}, &copies, &copy_holders}; }
};

/// Three holders of a worker, one after the other in its time, note at any moment what they were leased; each
/// may be killed, has more than one window, and may give back the end of its last. Nobody is taken for the
/// holder of what another one was leased, and nobody lowers another one's mark.
struct HoldersOfAWorker : rl::test_suite<HoldersOfAWorker, 3> {
  /// Of what is leased to the holder `index + 1`.
  static std::int64_t first_end(unsigned index) { return 10 + 30 * static_cast<std::int64_t>(index); }

  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    if (index == leaf_model::mortal_thread) leaf_model::writes_to_live = static_cast<int>(rl::rand(9));
    const bool is_killed = index == leaf_model::mortal_thread;
    const MarkPlace place = cells.place();
    const MarkHolder self = index + 1;
    for (std::int64_t end = first_end(index); end <= first_end(index) + 20; end += 10) {
      place.raise({.end = end, .holder = self});
      if (!is_killed) greatest = std::max(greatest, end);
      require_right_name(place.load());
    }
    if (rl::rand(2) == 0) return;
    if (greatest == first_end(index) + 20) may_be_lowered = true;
    place.lower({.end = first_end(index) + 15, .holder = self});
    require_right_name(place.load());
  }

  void require_right_name(const GrantMarks::Mark& mark) {
    for (unsigned index = 0; index < 3; ++index) {
      if (mark.holder == index + 1) RL_ASSERT(mark.end <= first_end(index) + 20);
    }
  }

  void after() {
    leaf_model::writes_to_live = forever;
    const GrantMarks::Mark mark = cells.place().load();
    require_right_name(mark);
    RL_ASSERT(mark.end >= greatest - (may_be_lowered ? 5 : 0));
    // Whoever raises it once more has his name there.
    cells.place().raise({.end = first_end(2) + 20, .holder = 3});
    RL_ASSERT(cells.place().load().holder == 3);
  }

  Cells cells;
  std::int64_t greatest = 0;  ///< that a call which has ended raised it to
  bool may_be_lowered = false;
};

/// Each makes IDs in a layout of its own, unless another one was settled before, whoever is killed.
struct Layouts : rl::test_suite<Layouts, 3> {
  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    const bool is_killed = index == leaf_model::mortal_thread;
    if (is_killed) leaf_model::writes_to_live = static_cast<int>(rl::rand(3));
    const MarkHolder layout = 77 + index;
    const leaf::host::NamedEnd mark = cells.place().mark;
    const MarkHolder settled = mark.settle(layout);
    if (is_killed && leaf_model::writes_to_live < 0) return;
    if (settled == layout) ++makers;
    const auto known = mark.load();
    RL_ASSERT(known.end == 1 && known.holder == settled);
  }

  void after() { RL_ASSERT(makers <= 1); }

  Cells cells;
  int makers = 0;
};

/// Two copies of a store grant the same at once: at least one of them is told. Who is told where to raise a
/// tag to is told a number that no claim lies above, also where one who claims is killed.
struct TwoCopies : rl::test_suite<TwoCopies, 2> {
  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    if (index == leaf_model::mortal_thread && rl::rand(2) == 0)
      leaf_model::writes_to_live = static_cast<int>(rl::rand(6));
    const bool is_told_good =
        cells.place().claim(index + 1, {1, index == leaf_model::mortal_thread ? 21 : 11}, index + 1);
    is_good[index] = is_told_good && (index != leaf_model::mortal_thread || leaf_model::writes_to_live >= 0);
  }

  void after() {
    RL_ASSERT(!is_good[0] || !is_good[1]);
    for (const auto& record : cells.copies)
      RL_ASSERT(record.end.load(leaf_model::memory_order_seq_cst) <= cells.place().load().end);
  }

  Cells cells;
  std::array<bool, 2> is_good{};
};

/// Three processes are granted one after the other by one copy that nobody knows yet: none is told that the
/// store has gone back.
struct OneCopy : rl::test_suite<OneCopy, 3> {
  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    const std::int64_t begin = 1 + 10 * static_cast<std::int64_t>(index);
    RL_ASSERT(cells.place().claim(1, {begin, begin + 10}, index + 1));
  }

  Cells cells;
};

/// As many copies as there is room for have granted before, and then two new ones and one of those are
/// granted the same at once, whichever of the others they push out.
struct CopiesBeyondRoom : rl::test_suite<CopiesBeyondRoom, 3> {
  void before() {
    leaf_model::writes_to_live = forever;
    std::uint64_t copy = 0;
    for (auto& record : cells.copies) {
      record.copy.store(++copy, leaf_model::memory_order_seq_cst);
      record.end.store(1, leaf_model::memory_order_seq_cst);
    }
  }

  void thread(unsigned index) {
    const std::uint64_t copy = index == 0 ? 1 + rl::rand(2) : 100 + index;
    if (cells.place().claim(copy, {1, 11}, copy)) ++good;
  }

  void after() { RL_ASSERT(good <= 1); }

  Cells cells;
  int good = 0;
};

}  // namespace

TEST_CASE(
    "mark model: nobody passes for the holder of what another one was leased, also where one is killed") {
  require_safe<HoldersOfAWorker>("mark", 100'000);
}

TEST_CASE("mark model: of several layouts one is settled, and missed by none") {
  require_safe<Layouts>("layouts", 50'000);
}

TEST_CASE("mark model: of two copies that grant the same at once, one is told") {
  require_safe<TwoCopies>("two_copies", 50'000);
}

TEST_CASE("mark model: a copy that is granted from at once by several for the first time is believed") {
  require_safe<OneCopy>("one_copy", 50'000);
}

TEST_CASE("mark model: of copies that push each other out, no two are granted the same") {
  require_safe<CopiesBeyondRoom>("copies_beyond_room", 50'000);
}
