#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "languages/mixed_storm.hpp"
#include "leaf/host.hpp"
#include "leaf/leaf.h"
#include "leaf/store.hpp"
#include "support/figure.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using namespace std::chrono_literals;
using leaf::TagName;
using leaf::test::MixedStorm;
using leaf::test::TemporaryFolder;

namespace {

constexpr std::int64_t few_ids = 300'000;
constexpr std::int64_t many_ids = 100'000'000;

/// The programs that were built: a line each, of a name, a tab, and the command.
std::map<std::string, std::string> languages() {
  std::map<std::string, std::string> result;
  std::ifstream file(LEAF_LANGUAGES);
  std::string name;
  std::string command;
  while (std::getline(file, name, '\t') && std::getline(file, command)) result[name] = command;
  return result;
}

/// For the name that all programs have. One that was killed while it leased the first worker would
/// leave that to nobody.
void lease_worker() {
  leaf_options options{};
  options.size = sizeof options;
  options.worker_name = "storm";
  leaf_generator* const generator = leaf_generator_open(&options, nullptr);
  REQUIRE(generator != nullptr);
  std::int64_t id = 0;
  CHECK(leaf_generator_next(generator, &id, nullptr) == LEAF_OK);
  leaf_generator_close(generator);
}

void storm(const std::string& name, const std::string& url, const TemporaryFolder& folder, std::int64_t ids,
           std::int64_t ids_a_request) {
  const std::string runtime_folder = (folder.path() / "run").string();
  setenv("LEAFCTL_STORE", url.c_str(), 1);
  setenv("LEAFCTL_RUNTIME_DIR", runtime_folder.c_str(), 1);
  setenv("LEAFCTL_CONFIG", "/dev/null", 1);
  setenv("HOME", folder.path().c_str(), 1);
  leaf::Store store({.url = url, .timeout = 60s});
  store.migrate();
  store.add_tag({.name = TagName("storm"), .step = 1000});

  lease_worker();
  const auto all = languages();
  REQUIRE(all.count("C++") == 1);
  std::vector<std::int64_t> snowflakes;
  {
    MixedStorm programs(all, std::random_device{}());
    REQUIRE_NOTHROW(programs.run(ids, ids_a_request));
    MixedStorm::Tally sum;
    for (const auto& [language, tally] : programs.tallies()) {
      MESSAGE(fmt::format("{}: {} IDs of the tag, {} snowflakes, {} killed, {} stopped", language,
                          tally.tag_ids, tally.snowflakes, tally.kills, tally.stops));
      CHECK(tally.tag_ids > 0);
      CHECK(tally.snowflakes > 0);
      sum.tag_ids += tally.tag_ids;
      sum.kills += tally.kills;
      sum.stops += tally.stops;
    }
    leaf::test::figure(name, all.size(), "languages");
    leaf::test::figure(name, sum.tag_ids, "IDs of a tag");
    leaf::test::figure(name, programs.snowflakes().size(), "snowflakes");
    leaf::test::figure(name, sum.kills, "kills");
    leaf::test::figure(name, sum.stops, "stops");
    CHECK(programs.highest_tag_id() < store.tag(TagName("storm")).next_id);
    snowflakes = programs.snowflakes();
  }
  std::ranges::sort(snowflakes);
  CHECK(std::ranges::adjacent_find(snowflakes) == snowflakes.end());
  // Each lies before the end of what its worker was granted.
  const leaf::Layout layout = store.layout();
  std::map<std::int64_t, leaf::UnixTime> granted;
  for (const leaf::Worker& worker : store.workers()) granted[worker.id] = worker.window_end;
  CHECK(granted.size() == 1);
  CHECK(std::ranges::all_of(snowflakes, [&](std::int64_t id) {
    const auto worker = granted.find(layout.worker_of(id));
    return worker != granted.end() && layout.time_of(id) < worker->second;
  }));
}

void storm_on_sqlite(std::int64_t ids, std::int64_t ids_a_request) {
  const TemporaryFolder folder;
  storm("languages/sqlite", "sqlite:" + (folder.path() / "leaf.db").string(), folder, ids, ids_a_request);
}

void storm_on_postgresql(std::int64_t ids, std::int64_t ids_a_request) {
  const TemporaryFolder folder;
  const leaf::test::TestDatabase database;
  storm("languages/postgresql", database.url(), folder, ids, ids_a_request);
}

}  // namespace

TEST_CASE("languages: all draw from one tag and one worker on SQLite, some killed and some stopped") {
  storm_on_sqlite(few_ids, 500);
}

TEST_CASE("languages: all draw from one tag and one worker on PostgreSQL, some killed and some stopped") {
  storm_on_postgresql(few_ids, 500);
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("languages: a hundred million IDs on PostgreSQL") {
    storm_on_postgresql(many_ids, 20'000);
  }
}
