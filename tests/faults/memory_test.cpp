#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "leaf/worker.hpp"
#include "support/pgbouncer.hpp"
#include "support/refuse_each.hpp"
#include "support/sqlite_store.hpp"
#include "support/test_database.hpp"
#include "support/test_host.hpp"

using leaf::test::refuse_each_allocation;

namespace {

const leaf::TagName low("low");
const leaf::TagName high("high");
constexpr std::int64_t far = 1'000'000'000;

struct TwoTags {
  TwoTags() {
    leaf::Store store({.url = database.url()});
    store.migrate();
    store.add_tag({.name = low, .step = 1});
    store.add_tag({.name = high, .step = 1, .start = far});
  }

  /// Draws from both by statements of one connection, of which one finds no memory now and then.
  void draw(const std::string& url) {
    leaf::Store store({.url = url});
    const auto draw_one = [&](const leaf::TagName& tag) {
      const std::int64_t id = store.grant(tag, 1).range.lo;
      CHECK((id >= far) == (tag == high));
      CHECK(ids.insert(id).second);
    };
    for (int use = 0; use < 3; ++use) {  // the first connects, and a later one prepares it
      const int allocations = refuse_each_allocation([&] { store.grant(low, 1); },
                                                     [&] {
                                                       draw_one(high);
                                                       draw_one(low);
                                                     });
      CHECK(allocations > 3);
    }
  }

  leaf::test::TestDatabase database;
  std::set<std::int64_t> ids;
};

void change_tags_and_workers(leaf::Store& store) {
  const leaf::TagName passing("passing");
  const leaf::WorkerRequest request{.owner = "somebody"};
  const auto goes_on = [&] {
    store.grant(low, 1);
    store.check_lease(request);
  };
  CHECK(refuse_each_allocation([&] { store.add_tag({.name = passing, .step = 7}); },
                               [&] {
                                 goes_on();
                                 if (store.tags().size() == 3) store.remove_tag(passing);
                               }) > 0);
  store.add_tag({.name = passing, .step = 7});
  CHECK(refuse_each_allocation([&] { store.update_tag(low, {.step = 5}); }, goes_on) > 0);
  CHECK(refuse_each_allocation([&] { store.acquire_worker(request); }, goes_on) > 0);
}

}  // namespace

TEST_CASE_FIXTURE(TwoTags, "memory: no statement has the answer to one that found no memory") {
  draw(database.url());
}

TEST_CASE_FIXTURE(TwoTags,
                  "memory: no statement has the answer to one that found no memory, behind a pooler") {
  const leaf::test::Pgbouncer pooler;
  draw(database.url(pooler.parameters()));
}

TEST_CASE_FIXTURE(TwoTags, "memory: a store is managed after each allocation that was refused") {
  leaf::Store store({.url = database.url()});
  change_tags_and_workers(store);
}

TEST_CASE("memory: a store in SQLite is managed after each allocation that was refused") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  leaf::test::add_tag(store, "low", 1);
  leaf::test::add_tag(store, "high", 1);
  change_tags_and_workers(store);
  const auto goes_on = [&] { store.grant(low, 1); };
  CHECK(refuse_each_allocation([&] { store.migrate(); }, goes_on) > 0);
  const leaf::WorkerRange wide{0, 999};
  CHECK(refuse_each_allocation([&] { store.set_worker_range(wide); }, goes_on) > 0);
  CHECK(refuse_each_allocation([&] { store.health(); }, goes_on) > 0);
  const auto list = [&] {
    store.identity();
    store.tags();
    store.workers();
    store.events();
  };
  CHECK(refuse_each_allocation(list, goes_on) > 0);
}

TEST_CASE("memory: a program draws after each allocation that was refused") {
  leaf::test::TestHost host;
  leaf::Store store = host.open();
  leaf::test::add_tag(store, "low", 1);
  std::set<std::int64_t> ids;
  const auto draw_by = [&](const auto& next) {
    const auto draw = [&] {
      const std::int64_t id = next();
      leaf::test::refuse_nth_allocation(0);
      CHECK(ids.insert(id).second);
    };
    CHECK(refuse_each_allocation(draw, draw) > 0);
    ids.clear();
  };
  draw_by([&] {
    leaf::SegmentAllocator allocator(host.store_options(), {.max_step = 1, .host = host.host_options()});
    return allocator.tag(low).next();
  });
  for (const auto& shared : {std::optional(host.host_options()), std::optional<leaf::HostOptions>()}) {
    draw_by([&] {
      leaf::SnowflakeGenerator generator(host.store_options(),
                                         {.worker = {.owner = "somebody"}, .host = shared});
      return generator.next();
    });
  }
}
