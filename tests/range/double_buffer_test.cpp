#include "leaf/detail/double_buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/bitmap.hpp"

using leaf::Range;
using leaf::range::DoubleBuffer;

static_assert(sizeof(DoubleBuffer) == 128, "a line for the word, a line for the slots");

TEST_CASE("range: a new buffer is empty and wants a range") {
  DoubleBuffer buffer;
  CHECK(buffer.take(1).range.empty());
  CHECK(buffer.take(1).fetch_next);
  CHECK(buffer.wants_next());
}

TEST_CASE("range: memory that is all zero is a new buffer") {
  alignas(DoubleBuffer) unsigned char memory[sizeof(DoubleBuffer)];
  std::memset(memory, 0, sizeof memory);
  auto& buffer = *reinterpret_cast<DoubleBuffer*>(memory);
  REQUIRE(buffer.wants_next());
  buffer.publish({7, 9}, 1);
  CHECK(buffer.take(5).range == Range{7, 9});
  CHECK(buffer.take(5).range.empty());
}

TEST_CASE("range: a batch ends with its range and goes on in the next one") {
  DoubleBuffer buffer;
  buffer.publish({100, 110}, 1);
  CHECK(buffer.take(4).range == Range{100, 104});
  REQUIRE(buffer.wants_next());
  buffer.publish({500, 503}, 1);
  CHECK_FALSE(buffer.wants_next());
  CHECK(buffer.take(1000).range == Range{104, 110});
  CHECK(buffer.take(1000).range == Range{500, 503});
  CHECK(buffer.take(1).range.empty());
}

TEST_CASE("range: takers are told to fetch from the mark on, until the next range is there") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 10);
  CHECK_FALSE(buffer.take(9).fetch_next);
  CHECK(buffer.take(1).fetch_next);
  CHECK(buffer.take(50).fetch_next);
  buffer.publish({100, 200}, 10);
  CHECK_FALSE(buffer.take(1).fetch_next);
}

TEST_CASE("range: a third range gives up what is left of both, and is served as a whole") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 10);
  CHECK(buffer.take(30).range == Range{0, 30});
  buffer.publish({100, 200}, 10);
  REQUIRE_FALSE(buffer.wants_next());
  buffer.publish({500, 503}, 1);
  CHECK(buffer.take(1000).range == Range{500, 503});
  CHECK(buffer.take(1).range.empty());
}

TEST_CASE(
    "range: a third range in its turn gives up nothing of a second that takers have gone to meanwhile") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 10);
  CHECK(buffer.take(1).range == Range{0, 1});
  buffer.publish({100, 200}, 10);
  const std::uint32_t turn = buffer.next_turn();
  CHECK(buffer.take(100).range == Range{1, 100});
  CHECK(buffer.take(1).range == Range{100, 101});
  buffer.publish({500, 503}, 1, 0, turn);
  CHECK(buffer.take(1000).range == Range{101, 200});
  CHECK(buffer.take(1000).range == Range{500, 503});
}

TEST_CASE("range: of a closed buffer nothing is taken, nor of what is published in a turn from before") {
  for (int published = 0; published < 4; ++published) {
    DoubleBuffer buffer;
    for (int i = 0; i < published; ++i) {
      buffer.publish({i * 100, i * 100 + 100}, 10);
      CHECK_FALSE(buffer.take(1).range.empty());
    }
    const std::uint32_t turn = buffer.next_turn();
    const std::int64_t end = buffer.published_end();
    buffer.close();
    CHECK(buffer.published_end() == end);
    CHECK(buffer.is_closed());
    const auto gives_nothing = [&] {
      std::int64_t id = 0;
      bool mark_reached = false;
      DoubleBuffer::Guess guess;
      CHECK_FALSE(buffer.take_one(guess, id, mark_reached));
      CHECK(buffer.take(10).range.empty());
      CHECK(buffer.view().rest.empty());
      CHECK_FALSE(buffer.view().has_next);
      CHECK(buffer.wants_next());
    };
    gives_nothing();
    buffer.publish({1000, 1000 + DoubleBuffer::max_size}, 10, 0, turn);
    gives_nothing();
    CHECK(buffer.is_closed());
    buffer.publish({2000, 2010}, 1);  // a later turn counts again
    CHECK_FALSE(buffer.is_closed());
    CHECK(buffer.take(100).range == Range{2000, 2010});
    CHECK_FALSE(buffer.is_closed());
  }
}

TEST_CASE("range: it is closed however fast others take") {
  for (int i = 0; i < 200; ++i) {
    DoubleBuffer buffer;
    buffer.publish({0, 10'000'000}, 1);
    std::jthread taker([&] {
      while (!buffer.take(1).range.empty()) continue;
    });
    while (buffer.view().rest.lo < 1000) continue;
    buffer.close();
    CHECK(buffer.is_closed());
  }
}

namespace {

using Bytes = std::array<unsigned char, sizeof(DoubleBuffer)>;

Bytes bytes_of(const DoubleBuffer& buffer) {
  Bytes bytes;
  std::memcpy(bytes.data(), static_cast<const void*>(&buffer), sizeof buffer);
  return bytes;
}

void set_bytes(DoubleBuffer& buffer, const Bytes& bytes) {
  std::memcpy(static_cast<void*>(&buffer), bytes.data(), bytes.size());
}

/// Buffers in all the states that they go through, and the first ID that none of them has given yet.
struct Used {
  int published;
  std::uint64_t taken;
};
constexpr Used uses[] = {{1, 1}, {1, 7}, {1, 100}, {2, 30}, {2, 101}, {3, 201}, {4, 350}, {4, 400}};

std::int64_t use(DoubleBuffer& buffer, const Used& used) {
  std::int64_t end = 0;
  for (int i = 0; i < used.published; ++i) {
    while (!buffer.wants_next()) end = buffer.take(1).range.hi;
    buffer.publish({i * 100, i * 100 + 100}, 10, 7);
  }
  while (end < static_cast<std::int64_t>(used.taken)) end = buffer.take(1).range.hi;
  return end;
}

}  // namespace

TEST_CASE("range: to drain a buffer gives up the next range too") {
  DoubleBuffer buffer;
  buffer.publish({1, 11}, 1);
  CHECK(buffer.take(3).range == Range{1, 4});
  buffer.publish({11, 21}, 1);
  CHECK(buffer.drain() == 17);
  CHECK(buffer.take(1).range.empty());
}

TEST_CASE("range: a buffer is intact whatever it goes through") {
  DoubleBuffer buffer;
  CHECK(buffer.is_intact());
  for (int i = 0; i < 9; ++i) {
    buffer.publish({i * 100, i * 100 + 100}, 10, 7);
    CHECK(buffer.is_intact());
    if (i % 3 == 1) buffer.publish({i * 100 + 50, i * 100 + 100}, 10, 8);  // retires the one before
    CHECK(buffer.is_intact());
    while (!buffer.take(30).range.empty()) CHECK(buffer.is_intact());
  }
  buffer.publish({5000, 5000 + DoubleBuffer::max_size}, 1);
  CHECK(buffer.drain() == DoubleBuffer::max_size);
  CHECK(buffer.is_intact());
  buffer.publish({1000, 1100}, 10);
  buffer.close();
  CHECK(buffer.is_intact());
  buffer.publish({2000, 2100}, 10);
  CHECK(buffer.is_intact());
}

TEST_CASE("range: with any byte changed to anything, a buffer is found damaged or gives no wrong ID") {
  for (const Used& used : uses) {
    DoubleBuffer buffer;
    const std::int64_t begin = use(buffer, used);
    const std::int64_t end = used.published * 100;
    const Bytes good = bytes_of(buffer);
    int found = 0;
    for (std::size_t place = 0; place < good.size(); ++place) {
      for (int change = 1; change < 256; ++change) {
        Bytes bad = good;
        bad[place] = static_cast<unsigned char>(bad[place] ^ change);
        set_bytes(buffer, bad);
        if (!buffer.is_intact()) {
          ++found;
          continue;
        }
        std::int64_t last = begin - 1;
        for (Range range = buffer.take(1000).range; !range.empty(); range = buffer.take(1000).range) {
          REQUIRE((range.lo > last && range.hi <= end));
          REQUIRE(buffer.view().label == 7);
          last = range.hi - 1;
        }
      }
    }
    CHECK(found > 40 * 255);  // a slot, its checksum and most of the word
  }
}

TEST_CASE("range: any two bits of a slot that change are found") {
  DoubleBuffer buffer;
  use(buffer, {1, 7});
  const Bytes good = bytes_of(buffer);
  int missed = 0;
  constexpr std::size_t begin = (64 + 32) * 8;
  for (std::size_t one = begin; one < begin + 32 * 8; ++one) {
    for (std::size_t other = one + 1; other < begin + 32 * 8; ++other) {
      Bytes bad = good;
      bad[one / 8] = static_cast<unsigned char>(bad[one / 8] ^ 1 << one % 8);
      bad[other / 8] = static_cast<unsigned char>(bad[other / 8] ^ 1 << other % 8);
      set_bytes(buffer, bad);
      missed += buffer.is_intact();
    }
  }
  CHECK(missed == 0);
}

TEST_CASE("range: a next range that was changed after it was looked at is not gone to, and replaced") {
  for (std::size_t place = 0; place < sizeof(DoubleBuffer); ++place) {
    DoubleBuffer buffer;
    buffer.publish({0, 100}, 10, 7);
    CHECK(buffer.take(1).range == Range{0, 1});
    const Bytes one = bytes_of(buffer);
    buffer.publish({100, 200}, 10, 7);
    Bytes both = bytes_of(buffer);
    if (one[place] == both[place]) continue;
    both[place] = static_cast<unsigned char>(both[place] ^ 0x20);
    set_bytes(buffer, both);
    CHECK_FALSE(buffer.view().has_next);
    CHECK(buffer.wants_next());
    CHECK(buffer.take(1000).range == Range{1, 100});
    CHECK_FALSE(buffer.advance(buffer.view()));
    CHECK(buffer.take(1000).range.empty());
    buffer.publish({200, 300}, 10, 7);
    CHECK(buffer.is_intact());
    CHECK(buffer.take(1000).range == Range{200, 300});
  }
}

TEST_CASE("range: of a closed buffer only what is not damaged tells where it ended") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 10, 7);
  CHECK(buffer.take(1).range == Range{0, 1});
  buffer.publish({100, 200}, 10, 7);
  buffer.close();
  constexpr std::size_t slots = 64, slot_size = 32;  // the second range lies in the first slot
  for (std::size_t place = slots; place < sizeof(DoubleBuffer); ++place) {
    Bytes bytes = bytes_of(buffer);
    bytes[place] = static_cast<unsigned char>(bytes[place] ^ 0x20);
    DoubleBuffer damaged;
    set_bytes(damaged, bytes);
    CHECK(damaged.is_intact());  // for nothing is taken
    CHECK(damaged.published_end() == (place < slots + slot_size ? 100 : 200));
  }
}

TEST_CASE("range: a cursor that has gone back behind what was noted is damage") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 90, 7);
  CHECK(buffer.take(10).range == Range{0, 10});
  const Bytes before = bytes_of(buffer);
  std::int64_t id = 0;
  bool mark_reached = false;
  DoubleBuffer::Guess guess;
  for (int i = 0; i < 5; ++i) REQUIRE(buffer.take_one(guess, id, mark_reached));
  buffer.note();
  Bytes after = bytes_of(buffer);
  std::copy_n(before.begin(), 8, after.begin());  // the word is the first member
  set_bytes(buffer, after);
  CHECK_FALSE(buffer.is_intact());
}

TEST_CASE("range: once all generations were had they come again, and nothing counts as damaged") {
  DoubleBuffer buffer;
  // As after nearly four billion ranges; nothing is left of the last one.
  const std::uint64_t word = std::uint64_t{UINT32_MAX - 2} << 32;
  Bytes bytes = bytes_of(buffer);
  std::memcpy(bytes.data(), &word, sizeof word);
  std::memcpy(bytes.data() + sizeof word, &word, sizeof word);  // what was noted of it
  set_bytes(buffer, bytes);
  for (std::int64_t lo = 1; lo < 50; lo += 10) {
    REQUIRE(buffer.wants_next());
    buffer.publish({lo, lo + 10}, 5);
    CHECK(buffer.take(4).range == Range{lo, lo + 4});
    CHECK(buffer.is_intact());
    CHECK(buffer.take(100).range == Range{lo + 4, lo + 10});
    CHECK(buffer.is_intact());
  }
}

TEST_CASE("range: what is taken at a known word is noted, too") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 90, 7);
  CHECK(buffer.take(10).range == Range{0, 10});
  std::uint64_t word = buffer.view().word;
  const Bytes before = bytes_of(buffer);
  REQUIRE(buffer.take_at(word, 5));
  Bytes after = bytes_of(buffer);
  CHECK(buffer.is_intact());
  std::copy_n(before.begin(), 8, after.begin());  // the word is the first member
  set_bytes(buffer, after);
  CHECK_FALSE(buffer.is_intact());
}

TEST_CASE("range: a view tells what take() would give, and holds until somebody takes") {
  DoubleBuffer buffer;
  buffer.publish({0, 10}, 5, 7);
  CHECK(buffer.view().has_next);
  CHECK(buffer.view().next == Range{0, 10});
  REQUIRE(buffer.advance(buffer.view()));
  const DoubleBuffer::View untouched = buffer.view();
  CHECK(untouched.untouched);
  CHECK(untouched.label == 7);
  CHECK(untouched.rest == Range{0, 10});
  CHECK(buffer.take_up_to(untouched, 4));
  CHECK_FALSE(buffer.take_up_to(untouched, 4));
  CHECK_FALSE(buffer.advance(buffer.view()));  // there is none
  const DoubleBuffer::View used = buffer.view();
  CHECK_FALSE(used.untouched);
  CHECK_FALSE(used.mark_reached);
  CHECK(used.rest == Range{4, 10});
  CHECK(buffer.take(1).range == Range{4, 5});
  CHECK(buffer.view().mark_reached);
  buffer.publish({100, 110}, 5, 8);
  CHECK_FALSE(buffer.advance(used));
  CHECK(buffer.advance(buffer.view()));
  CHECK(buffer.view().rest == Range{100, 110});
  CHECK(buffer.view().label == 8);
}

TEST_CASE(
    "range: taking from the next range gives up the rest of this one, or nothing if somebody has taken") {
  DoubleBuffer buffer;
  buffer.publish({0, 10}, 5);
  REQUIRE(buffer.advance(buffer.view()));
  CHECK_FALSE(buffer.take_next_up_to(buffer.view(), 104));  // there is none
  buffer.publish({100, 110}, 5);
  const DoubleBuffer::View seen = buffer.view();
  CHECK(buffer.take(1).range == Range{0, 1});
  CHECK_FALSE(buffer.take_next_up_to(seen, 104));
  CHECK(buffer.view().rest == Range{1, 10});
  CHECK(buffer.take_next_up_to(buffer.view(), 104));
  CHECK(buffer.view().rest == Range{104, 110});
  CHECK_FALSE(buffer.view().has_next);
}

TEST_CASE("range: take_one tells of the mark exactly once in a range") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 10);
  REQUIRE(buffer.take(1).range == Range{0, 1});
  int told = 0;
  DoubleBuffer::Guess guess;
  for (std::int64_t expected = 1; expected < 100; ++expected) {
    std::int64_t id = -1;
    bool mark_reached = false;
    REQUIRE(buffer.take_one(guess, id, mark_reached));
    CHECK(id == expected);
    CHECK(mark_reached == (expected == 9));
    told += mark_reached;
  }
  CHECK(told == 1);
  std::int64_t id = -1;
  bool mark_reached = false;
  CHECK_FALSE(buffer.take_one(guess, id, mark_reached));
}

TEST_CASE("range: take_one gives the next ID whatever word it guesses, and guesses the next one then") {
  DoubleBuffer buffer;
  buffer.publish({0, 100}, 200);
  REQUIRE(buffer.take(10).range == Range{0, 10});
  buffer.publish({1000, 1100}, 200);
  std::int64_t expected = 10;
  DoubleBuffer::Guess guess;
  const auto take = [&] {
    std::int64_t id = -1;
    bool mark_reached = true;
    REQUIRE(buffer.take_one(guess, id, mark_reached));
    CHECK(id == expected);
    CHECK_FALSE(mark_reached);
    ++expected;
  };
  for (int half = 0; half < 2; ++half) {
    for (std::uint64_t generation = 0; generation < 5; ++generation) {
      for (const std::uint64_t offset : {0u, 5u, 10u, 30u, 99u, 100u, UINT32_MAX}) {
        guess.store(generation << 32 | offset);
        take();
        const std::uint64_t guessed = guess.load();
        CHECK(guessed == buffer.view().word);
        take();
        CHECK(guess.load() == guessed + 1);
      }
    }
    if (half == 0) REQUIRE(buffer.advance(buffer.view()));
    expected = 1000;
  }
}

TEST_CASE("range: the longest range and the greatest IDs are served to the last one") {
  DoubleBuffer buffer;
  const std::int64_t hi = INT64_MAX;
  const std::int64_t lo = hi - static_cast<std::int64_t>(DoubleBuffer::max_size);
  buffer.publish({lo, hi}, 1);
  CHECK(buffer.take(DoubleBuffer::max_size - 1).range == Range{lo, hi - 1});
  CHECK(buffer.take(DoubleBuffer::max_size).range == Range{hi - 1, hi});
  CHECK(buffer.take(1).range.empty());
}

namespace {

// Serves disjoint ranges to a buffer, of sizes that are short enough for many changes of generation.
class Granter {
 public:
  Granter(DoubleBuffer& buffer, std::int64_t end) : buffer_(buffer), end_(end) {}

  /// False once all IDs were granted.
  bool refill() {
    const std::lock_guard lock(mutex_);
    if (!buffer_.wants_next()) return true;
    if (next_ == end_) return false;
    const std::int64_t lo = next_;
    next_ = std::min(end_, lo + 1 + lo % 37);
    buffer_.publish({lo, next_}, 1);
    return true;
  }

 private:
  DoubleBuffer& buffer_;
  const std::int64_t end_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
};

}  // namespace

TEST_CASE("range: four threads that take singly and in batches get each ID once, each thread in order") {
  constexpr std::int64_t ids = 2'000'000;
  auto buffer = std::make_unique<DoubleBuffer>();
  Granter granter(*buffer, ids);
  leaf::test::Bitmap seen(ids);
  std::atomic<std::int64_t> repeated{0}, out_of_order{0}, total{0};

  const auto draw = [&](std::uint64_t batch) {
    std::int64_t last = -1;
    DoubleBuffer::Guess guess;
    for (;;) {
      Range range{};
      bool fetch = false;
      if (std::int64_t id = 0; batch == 1 && buffer->take_one(guess, id, fetch)) {
        range = {id, id + 1};
      } else {
        const auto taken = buffer->take(batch);
        range = taken.range;
        fetch = taken.fetch_next;
      }
      if (range.lo < last && !range.empty()) ++out_of_order;
      for (std::int64_t id = range.lo; id < range.hi; ++id) {
        if (!seen.insert(id)) ++repeated;
      }
      if (!range.empty()) last = range.hi;
      total += range.hi - range.lo;
      if (fetch && !granter.refill() && range.empty()) return;
    }
  };
  std::vector<std::thread> threads;
  for (const std::uint64_t batch : {1U, 1U, 3U, 64U}) threads.emplace_back(draw, batch);
  for (auto& thread : threads) thread.join();

  CHECK(repeated == 0);
  CHECK(out_of_order == 0);
  CHECK(total == ids);
}
