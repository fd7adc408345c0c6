#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>

#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "race/storm.hpp"
#include "support/figure.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using namespace std::chrono_literals;
using leaf::TagName;
using leaf::test::Storm;
using leaf::test::TemporaryFolder;

namespace {

constexpr std::size_t at_once = 64;
constexpr std::int64_t few_calls = 2'000;
/// About three minutes on two cores.
constexpr std::int64_t many_calls = 150'000;
constexpr std::int64_t ids_of_a_large_call = 3'000;

/// What the store has granted of a tag and nobody has or will get.
std::int64_t burnt(leaf::Store& store, const leaf::HostBuffer& buffer, const Storm::Tag& tag) {
  const std::int64_t granted = store.tag(TagName(tag.name)).next_id - 1;
  return granted - tag.printed - static_cast<std::int64_t>(buffer.current.size() + buffer.next.size());
}

void storm(const std::string& name, const std::string& url, const TemporaryFolder& folder,
           std::int64_t calls) {
  const std::string runtime_folder = (folder.path() / "run").string();
  setenv("LEAFCTL_STORE", url.c_str(), 1);
  setenv("LEAFCTL_RUNTIME_DIR", runtime_folder.c_str(), 1);
  setenv("HOME", folder.path().c_str(), 1);
  leaf::Store store({.url = url, .timeout = 60s});
  store.migrate();
  std::vector<Storm::Tag> tags{
      {.name = "order"}, {.name = "invoice"}, {.name = "parcel"}, {.name = "spared", .spared = true}};
  for (const Storm::Tag& tag : tags) store.add_tag({.name = TagName(tag.name), .step = 100});

  Storm processes(LEAFCTL, tags, ids_of_a_large_call);
  REQUIRE_NOTHROW(processes.run(calls, at_once, 50ms));
  // Whoever was killed has left no lock behind.
  REQUIRE_NOTHROW(processes.call_each_once());

  const auto buffers = leaf::host_buffers({.folder = runtime_folder});
  Storm::Tag all;
  std::int64_t all_burnt = 0;
  for (const Storm::Tag& tag : processes.tags()) {
    const auto buffer = std::ranges::find(buffers, tag.name, &leaf::HostBuffer::name);
    REQUIRE(buffer != buffers.end());
    const std::int64_t lost = burnt(store, *buffer, tag);
    MESSAGE(fmt::format("{}: {} IDs printed, {} processes killed, {} IDs burnt, step {}", tag.name,
                        tag.printed, tag.kills, lost, buffer->step));
    CHECK(lost >= 0);
    // What a call was about to print, and a grant in flight.
    CHECK(lost <= tag.kills * (ids_of_a_large_call + std::max(buffer->step, ids_of_a_large_call)));
    CHECK((tag.kills > 0) == !tag.spared);
    all.printed += tag.printed;
    all.kills += tag.kills;
    all_burnt += lost;
  }
  leaf::test::figure(name, calls, "calls");
  leaf::test::figure(name, all.kills, "processes killed");
  leaf::test::figure(name, all.printed, "IDs printed");
  leaf::test::figure(name, all_burnt, "IDs burnt");
}

void storm_on_sqlite(std::int64_t calls) {
  const TemporaryFolder folder;
  storm("storm/sqlite", "sqlite:" + (folder.path() / "leaf.db").string(), folder, calls);
}

void storm_on_postgresql(std::int64_t calls) {
  const TemporaryFolder folder;
  const leaf::test::TestDatabase database;
  storm("storm/postgresql", database.url(), folder, calls);
}

}  // namespace

TEST_CASE("storm: 64 calls at once on SQLite, some killed") {
  storm_on_sqlite(few_calls);
}

TEST_CASE("storm: 64 calls at once on PostgreSQL, some killed") {
  storm_on_postgresql(few_calls);
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("storm: minutes of 64 calls at once on SQLite, some killed") {
    storm_on_sqlite(many_calls);
  }

  TEST_CASE("storm: minutes of 64 calls at once on PostgreSQL, some killed") {
    storm_on_postgresql(many_calls);
  }
}
