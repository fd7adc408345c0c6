#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "host/state_patch.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "support/held_lock.hpp"
#include "support/test_host.hpp"
#include "support/wait_for.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::host::SharedState;
using leaf::test::TestHost;

namespace {

/// One byte of a file, and what it becomes.
struct Damage {
  std::size_t place;
  unsigned char change;
};

bool lies_in_buffer(std::size_t place) {
  return place >= offsetof(SharedState, buffer) &&
         place < offsetof(SharedState, buffer) + sizeof(SharedState::buffer);
}

bool lies_in_cursor(std::size_t place) {
  return lies_in_buffer(place) && place < offsetof(SharedState, buffer) + sizeof(std::uint64_t);
}

bool lies_in_lease(std::size_t place) {
  return place >= offsetof(SharedState, worker) &&
         place < offsetof(SharedState, worker) + sizeof(SharedState::worker);
}

/// Each bit of what IDs are drawn from and of the last lease, and one of each seventh byte beside them.
template <class Try>
void with_each_damage(Try attempt) {
  for (std::size_t place = 0; place < sizeof(SharedState); ++place) {
    const bool is_each_bit = lies_in_buffer(place) || lies_in_lease(place);
    if (!is_each_bit && place % 7 == 0) attempt(Damage{place, static_cast<unsigned char>(1 << place % 8)});
    for (int bit = 0; is_each_bit && bit < 8; ++bit)
      attempt(Damage{place, static_cast<unsigned char>(1 << bit)});
  }
}

void damage(const fs::path& file, const Damage& damage) {
  std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
  bytes.seekg(static_cast<std::streamoff>(damage.place));
  const char good = static_cast<char>(bytes.get());
  bytes.seekp(static_cast<std::streamoff>(damage.place));
  REQUIRE(bytes.put(static_cast<char>(good ^ damage.change)).flush());
}

bool is_listed_as_damaged(const TestHost& host) {
  const auto buffers = leaf::host_buffers(host.host_options());
  return buffers.size() == 1 && buffers.front().damaged;
}

}  // namespace

TEST_CASE("damage: whatever bit of a tag's file changes, no ID comes twice, out of order or ungranted") {
  TestHost host;
  leaf::Store admin(host.store_options());
  const leaf::TagName order("order");
  leaf::test::add_tag(admin, "order", 10);
  std::int64_t last = 0;
  int replaced = 0;
  int listed = 0;
  const auto draw = [&](leaf::SegmentTag& tag, std::uint64_t count) {
    for (const leaf::Range range : tag.next_ranges(count)) {
      REQUIRE(range.lo > last);
      last = range.hi - 1;
    }
    REQUIRE(last < admin.tag(order).next_id);
  };
  with_each_damage([&](const Damage& change) {
    INFO("byte " << change.place << " ^ " << static_cast<int>(change.change));
    const auto allocator = [&] {
      return leaf::SegmentAllocator(host.store_options(), {.timeout = 1s, .host = host.host_options()});
    };
    {
      leaf::SegmentAllocator before = allocator();
      leaf::SegmentTag tag = before.tag(order);
      draw(tag, 3);
      tag.fetch();
    }
    const fs::path file = leaf::test::state_file_in(host.run);
    damage(file, change);
    listed += is_listed_as_damaged(host);
    leaf::SegmentAllocator after = allocator();
    leaf::SegmentTag tag = after.tag(order);
    replaced += leaf::host_buffers(host.host_options()).front().current.empty();
    draw(tag, 25);
    REQUIRE_FALSE(is_listed_as_damaged(host));
    fs::remove(leaf::test::state_file_in(host.run));
  });
  // The header, both slots with their checksums, and half of the cursor.
  CHECK(replaced > static_cast<int>(sizeof(leaf::host::FileHeader) / 7 + 8 * (2 * 32 + 4)));
  CHECK(listed > 8 * (2 * 32 + 4));
}

TEST_CASE("damage: whatever bit of a worker's file changes, no ID comes twice or of another's worker") {
  TestHost host;
  leaf::Store admin(host.store_options());
  const auto layout = leaf::Layout::parse("leaf");
  std::int64_t last = 0;
  const auto draw = [&](leaf::SnowflakeGenerator& generator) {
    for (int i = 0; i < 3; ++i) {
      const std::int64_t id = generator.next();
      REQUIRE(id > last);
      last = id;
      const auto parts = layout.decompose(id);
      bool was_leased = false;
      for (const leaf::Worker& worker : admin.workers())
        was_leased |= worker.id == parts.worker && parts.time < worker.window_end;
      REQUIRE(was_leased);
    }
  };
  leaf::SnowflakeOptions options;
  options.worker.owner = "here";
  options.timeout = 1s;
  options.host = host.host_options();
  int refused = 0;
  with_each_damage([&](const Damage& change) {
    INFO("byte " << change.place << " ^ " << static_cast<int>(change.change));
    {
      leaf::SnowflakeGenerator before(host.store_options(), options);
      draw(before);
      before.fetch();
    }
    damage(leaf::test::state_file_in(host.run), change);
    try {
      leaf::SnowflakeGenerator after(host.store_options(), options);
      draw(after);
      host.clock.advance(2 * options.worker.window);  // what is buffered is over, and the lease is renewed
      draw(after);
    } catch (const leaf::Error& error) {
      INFO(error.what());
      REQUIRE(error.code() == leaf::ErrorCode::refused);
      // One that is set ahead has used up the time until there.
      REQUIRE(lies_in_cursor(change.place));
      ++refused;
    }
    fs::remove(leaf::test::state_file_in(host.run));
    host.clock.advance(30min);
  });
  CHECK(refused < 10);
}

TEST_CASE("damage: who has mapped a file before it was damaged leaves it as soon as another process looks") {
  TestHost host;
  leaf::Store admin(host.store_options());
  leaf::test::add_tag(admin, "order", 10);
  leaf::SegmentAllocator running(host.store_options(), {.timeout = 1s, .host = host.host_options()});
  leaf::SegmentTag mapped = running.tag(leaf::TagName("order"));
  CHECK(mapped.next() == 1);
  constexpr std::size_t begin_of_the_first_range = offsetof(SharedState, buffer) + 64 + 32;
  damage(leaf::test::state_file_in(host.run), {begin_of_the_first_range, 0x40});
  leaf::SegmentAllocator coming(host.store_options(), {.timeout = 1s, .host = host.host_options()});
  CHECK(coming.tag(leaf::TagName("order")).next() == 11);
  CHECK(mapped.next() == 12);
}

TEST_CASE("damage: who has mapped a file and is alone leaves it when it looks again") {
  TestHost host;
  leaf::Store admin(host.store_options());
  leaf::test::add_tag(admin, "order", 10);
  leaf::HostOptions options = host.host_options();
  options.fetch_ahead = true;
  leaf::SegmentAllocator running(host.store_options(), {.timeout = 1s, .host = options});
  leaf::SegmentTag mapped = running.tag(leaf::TagName("order"));
  CHECK(mapped.next() == 1);
  std::size_t place = 0;
  SUBCASE("its first range") {
    place = offsetof(SharedState, buffer) + 64 + 32;
  }
  SUBCASE("its header") {
    place = offsetof(SharedState, header) + offsetof(leaf::host::FileHeader, boot);
  }
  damage(leaf::test::state_file_in(host.run), {place, 0x40});
  // As the background thread does each second.
  CHECK(leaf::test::wait_for([&] {
    host.clock.advance(1s);
    const auto buffers = leaf::host_buffers(host.host_options());
    return buffers.size() == 1 && !buffers.front().damaged;
  }));
  CHECK(mapped.next() >= 11);
}

TEST_CASE(
    "damage: who has mapped a file leaves it, though its lock is held, and draws again once it is free") {
  TestHost host;
  leaf::Store admin(host.store_options());
  leaf::test::add_tag(admin, "order", 1'000'000);
  leaf::HostOptions options = host.host_options();
  options.fetch_ahead = true;
  leaf::SegmentAllocator running(host.store_options(), {.timeout = 1s, .host = options});
  leaf::SegmentTag mapped = running.tag(leaf::TagName("order"));
  CHECK(mapped.next() == 1);
  mapped.fetch();  // so that nobody does any more
  const fs::path file = leaf::test::state_file_in(host.run);
  std::optional<leaf::test::HeldLock> fetching(file);
  constexpr std::size_t begin_of_the_first_range = offsetof(SharedState, buffer) + 64 + 32;
  damage(file, {begin_of_the_first_range, 0x40});
  CHECK(leaf::test::wait_for([&] {
    host.clock.advance(1s);
    std::int64_t id = 0;
    return !mapped.try_next(id);
  }));
  fetching.reset();
  CHECK(mapped.next() > 2'000'000);
}

TEST_CASE("damage: a buffer that is damaged is forgotten with those whose fetches fail, a sound one is not") {
  TestHost host;
  leaf::Store admin(host.store_options());
  leaf::test::add_tag(admin, "order", 10);
  leaf::SegmentAllocator allocator(host.store_options(), {.timeout = 1s, .host = host.host_options()});
  CHECK(allocator.tag(leaf::TagName("order")).next() == 1);
  const auto forget = [&] { return leaf::forget_failing_buffers(host.host_options(), 1s, host.clock); };
  CHECK(forget() == 0);
  damage(leaf::test::state_file_in(host.run), {.place = offsetof(SharedState, origin), .change = 1});
  REQUIRE(is_listed_as_damaged(host));
  CHECK(forget() == 1);
  CHECK(leaf::host_buffers(host.host_options()).empty());
}
