#include <doctest/doctest.h>

#include <array>

#include "relacy_double_buffer.hpp"
#include "require_safe.hpp"

using leaf::Range;
using leaf::range::DoubleBuffer;

namespace {

constexpr int forever = 1'000'000;

/// One publisher, that may be killed, and two takers, of whom one may close the buffer, take its file's name
/// away and draw from another one. Every ID must come from a range that was published as a whole, once, and
/// in order; and nobody may take the buffer for damaged.
struct PublisherAndTakers : rl::test_suite<PublisherAndTakers, 3> {
  static constexpr std::size_t max_grants = 6;
  static constexpr std::int64_t max_ids = 64;

  struct Granted {
    Range range{};
    std::uint32_t label = 0;
    bool lost = false;  ///< its publisher was killed
  };

  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    if (index == leaf_model::mortal_thread) {
      publish_all();
    } else {
      for (int i = 0; i < 4; ++i) take_somehow();
    }
  }

  void publish_all() {
    for (int i = 0; i < 4; ++i) {
      const bool retiring = !buffer.wants_next();
      if (retiring && rl::rand(2) == 0) continue;  // as an owner that sees that there is a next range
      const std::uint32_t turn = buffer.next_turn();
      if (is_closed) return;  // the file has lost its name
      const Granted& granted = grant();
      if (rl::rand(2) == 0) leaf_model::writes_to_live = static_cast<int>(rl::rand(9));
      buffer.publish(granted.range, 1, granted.label, turn);
      if (leaf_model::writes_to_live < 0) grants[grant_count - 1].lost = true;
      leaf_model::writes_to_live = forever;  // another publisher has the lock now
    }
  }

  const Granted& grant() {
    RL_ASSERT(grant_count < max_grants);
    Granted& granted = grants[grant_count++];
    const std::int64_t size = 1 + rl::rand(3);
    granted = {{next_id, next_id + size}, static_cast<std::uint32_t>(grant_count), false};
    next_id += size + rl::rand(2);
    return granted;
  }

  void take_somehow() {
    if (rl::rand(4) == 0) RL_ASSERT(buffer.is_intact());
    const std::int64_t ended_before = greatest_ended;
    switch (rl::rand(is_closed ? 3 : 4)) {
      case 0: {
        std::int64_t id = 0;
        bool mark_reached = false;
        // What another one left, what was never there, or what will be.
        if (rl::rand(2) == 0) guess.store(std::uint64_t{rl::rand(6)} << 32 | rl::rand(3));
        if (buffer.take_one(guess, id, mark_reached)) taken({id, id + 1}, ended_before);
        break;
      }
      case 1:
        if (const Range range = buffer.take(1 + rl::rand(3)).range; !range.empty())
          taken(range, ended_before);
        break;
      case 2:
        take_from_view(ended_before);
        break;
      default: {
        is_closed = true;
        DoubleBuffer::View last = buffer.view();
        while (!buffer.close(last)) last = buffer.view();
        if (const std::int64_t end = DoubleBuffer::end_of_taken(last); end != 0)
          RL_ASSERT(end > ended_before);
        greatest_ended = next_id++;  // from the other file
        break;
      }
    }
  }

  void take_from_view(std::int64_t ended_before) {
    const DoubleBuffer::View view = buffer.view();
    const bool was_closed = static_cast<std::uint32_t>(view.word) == UINT32_MAX;
    if (was_closed) RL_ASSERT(view.rest.empty() && !view.has_next);
    if (view.word >> 32 != 0 && !was_closed) require_same(view.rest, view.label, find(view.rest.hi - 1));
    if (view.has_next) RL_ASSERT(view.next == find(view.next.lo)->range);
    if (view.rest.empty()) {
      buffer.advance(view);
      return;
    }
    const std::int64_t end = view.rest.lo + 1 + rl::rand(static_cast<unsigned>(view.rest.size()));
    std::uint64_t word = view.word;
    const bool has_taken = rl::rand(2) == 0
                               ? buffer.take_up_to(view, end)
                               : buffer.take_at(word, static_cast<std::uint32_t>(end - view.rest.lo));
    if (has_taken) taken({view.rest.lo, end}, ended_before);
  }

  void require_same(Range rest, std::uint32_t label, const Granted* granted) {
    RL_ASSERT(rest.lo >= granted->range.lo && rest.hi == granted->range.hi);
    RL_ASSERT(label == granted->label);
  }

  void taken(Range range, std::int64_t ended_before) {
    RL_ASSERT(range.lo > ended_before);
    RL_ASSERT(range.hi <= find(range.lo)->range.hi);
    for (std::int64_t id = range.lo; id < range.hi; ++id) {
      RL_ASSERT(!seen[static_cast<std::size_t>(id)]);
      seen[static_cast<std::size_t>(id)] = true;
    }
    greatest_ended = std::max(greatest_ended, range.hi - 1);
  }

  const Granted* find(std::int64_t id) {
    for (const Granted& granted : grants) {
      if (id >= granted.range.lo && id < granted.range.hi && !granted.lost) return &granted;
    }
    const bool lies_in_a_published_range = false;
    RL_ASSERT(lies_in_a_published_range);
    return nullptr;
  }

  DoubleBuffer buffer;
  DoubleBuffer::Guess guess;  ///< of both takers
  // What follows is looked at between atomic operations only, so that it is no part of the model.
  std::array<Granted, max_grants> grants{};
  std::size_t grant_count = 0;
  std::array<bool, max_ids> seen{};
  std::int64_t next_id = 1;
  bool is_closed = false;
  std::int64_t greatest_ended = 0;  ///< the greatest ID of all calls that have ended
};

}  // namespace

TEST_CASE(
    "range model: no ID comes twice, out of order or from outside of its range, nor seems there damage, also "
    "where a publisher is killed") {
  require_safe<PublisherAndTakers>("double_buffer", 200'000);
}
