#include "doctor/host_checks.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;
using leafctl::CheckState;

TEST_CASE("host checks: a buffer whose fetches failed is a warning with its own hint") {
  leaf::HostBuffer well;
  well.name = "well";
  leaf::HostBuffer failing;
  failing.name = "order";
  failing.store = "dbname=ids";
  failing.failures = 3;
  failing.failure = "the store did not answer";
  failing.failure_hint = "try again";
  leaf::HostBuffer worker = failing;
  worker.kind = leaf::HostBuffer::Kind::worker;
  worker.failures = 1;
  worker.failure_hint.clear();
  const leafctl::Checks checks = leafctl::buffer_checks({well, failing, worker});
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].state == CheckState::warning);
  CHECK(checks[0].detail ==
        "the last 3 fetches of tag 'order' from store 'dbname=ids' failed: the store did not answer");
  CHECK(checks[0].hint == "try again");
  CHECK(checks[1].detail ==
        "the last fetch of the worker of 'order' from store 'dbname=ids' failed: the store did not answer");
  CHECK(checks[1].hint == "ask that store what is wrong: 'leafctl --store dbname=ids doctor'");
}

TEST_CASE("host checks: what helps one store is not proposed for the one that was asked") {
  leaf::HostBuffer failing;
  failing.name = "order";
  failing.store = "dbname=other";
  failing.deployment = "b";
  failing.copy = "1";
  failing.failures = 1;
  failing.failure = "the store has granted IDs before";
  failing.failure_hint = "raise it";
  failing.failure_remedies = {{.kind = leaf::Remedy::Kind::raise_tag, .name = "order", .number = 501}};
  leafctl::AskedStore asked{.identity = {.deployment = "a", .copy = "1"}, .tags = {"order"}, .checks = {}};
  const auto hint = [&] { return leafctl::buffer_checks({failing}, asked).at(0).hint; };
  const std::string ask = "ask that store what is wrong: 'leafctl --store dbname=other doctor'";
  CHECK(hint() == ask);
  asked.identity = {.deployment = "b", .copy = "2"};
  CHECK(hint() == ask);
  asked.identity = {.deployment = "b", .copy = "1"};
  asked.checks = {{.name = "tags", .state = CheckState::failed, .detail = "", .subject = "order"}};
  CHECK(hint() != ask);
  CHECK(hint().find("--raise-to 501") != std::string::npos);
}

TEST_CASE(
    "host checks: what a fetch failed of is over where the store was asked and nothing speaks against it") {
  leaf::HostBuffer failing;
  failing.name = "order";
  failing.deployment = "a";
  failing.copy = "1";
  failing.failures = 1;
  failing.failure = "the store did not answer";
  leafctl::AskedStore asked{.identity = {.deployment = "a", .copy = "1"}, .tags = {"order"}, .checks = {}};
  const auto state = [&] { return leafctl::buffer_checks({failing}, asked).at(0).state; };
  CHECK(state() == CheckState::ok);
  asked.checks = {{.name = "tags", .state = CheckState::failed, .detail = "", .subject = "bill"},
                  {.name = "connection", .state = CheckState::warning, .detail = ""},
                  {.name = "clock", .state = CheckState::failed, .detail = ""},
                  {.name = "identity",
                   .state = CheckState::failed,
                   .detail = "",
                   .measures = {{"tags_ahead", std::int64_t{0}}}}};
  CHECK(state() == CheckState::ok);
  SUBCASE("the tag") {
    asked.checks[0].subject = "order";
  }
  SUBCASE("the store") {
    asked.checks[1].state = CheckState::failed;
  }
  SUBCASE("tags wait") {
    asked.checks[3].measures = {{"tags_ahead", std::int64_t{1}}};
  }
  SUBCASE("a worker") {
    failing.kind = leaf::HostBuffer::Kind::worker;
  }
  SUBCASE("the tag is gone") {
    asked.tags = {"bill"};
  }
  SUBCASE("another copy") {
    asked.identity.copy = "2";
  }
  SUBCASE("another store") {
    asked.identity.deployment = "b";
  }
  CHECK(state() == CheckState::warning);
}

TEST_CASE("host checks: a damaged buffer is a warning, whether or not its fetches failed") {
  leaf::HostBuffer damaged;
  damaged.name = "order";
  damaged.store = "dbname=ids";
  damaged.damaged = true;
  damaged.failure = "its file was cut off";
  damaged.failure_hint = "remove it";
  const leafctl::Checks checks = leafctl::buffer_checks({damaged});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].state == CheckState::warning);
  CHECK(checks[0].detail == "the buffer of tag 'order' from store 'dbname=ids': its file was cut off");
  CHECK(checks[0].hint == "remove it");
}

TEST_CASE("host checks: tags that are used up keep no worker from its next fetch") {
  leaf::HostBuffer worker;
  worker.kind = leaf::HostBuffer::Kind::worker;
  worker.name = "web";
  worker.deployment = "a";
  worker.copy = "1";
  worker.failures = 1;
  const leafctl::AskedStore asked{
      .identity = {.deployment = "a", .copy = "1"},
      .tags = {},
      .checks = {{.name = "tags", .state = CheckState::failed, .detail = "rows are gone"}}};
  CHECK(leafctl::buffer_checks({worker}, asked).at(0).state == CheckState::ok);
}

TEST_CASE("host checks: a folder that another user has is a warning, with a way that helps there") {
  leaf::Environment environment;
  environment.user_id = "nobody-" + std::to_string(getpid());
  environment.run_folder = "/no/such/folder";
  environment.is_in_memory = [](const std::string&) { return true; };
  CHECK(leafctl::folder_checks("", environment).empty());
  const fs::path usual = "/dev/shm/leafctl-" + environment.user_id;
  fs::create_directory(usual);
  const leafctl::Checks by_root = leafctl::folder_checks("", environment);
  environment.is_in_memory = [](const std::string& path) { return path == "/dev/shm"; };
  const leafctl::Checks elsewhere = leafctl::folder_checks("", environment);
  CHECK(leafctl::folder_checks("/elsewhere", environment).empty());
  fs::remove(usual);
  REQUIRE(by_root.size() == 1);
  CHECK(by_root[0].state == CheckState::warning);
  CHECK(by_root[0].detail == "'" + usual.string() + "' belongs to another user, so there are no buffers");
  CHECK(by_root[0].hint == "have root run 'install -d -m 0700 -o " + environment.user_id + " /run/leafctl-" +
                               environment.user_id + "'");
  REQUIRE(elsewhere.size() == 1);
  CHECK(elsewhere[0].hint.find("'/dev/shm/ids-" + environment.user_id + "', with --runtime-dir") !=
        std::string::npos);
}

TEST_CASE("host checks: former buffers are counted, and nothing else is said of them") {
  leaf::HostBuffer former;
  former.is_former = true;
  former.failures = 3;
  const leafctl::Checks checks = leafctl::buffer_checks({former, former});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].state == CheckState::ok);
  CHECK(checks[0].detail.starts_with("2 buffers are of a copy of its store"));
}

TEST_CASE("host checks: no place for buffers is a warning, not wanting them is none") {
  CHECK(leafctl::look_at_host({}, true).folder.state == CheckState::warning);
  CHECK(leafctl::look_at_host({}, false).folder.state == CheckState::ok);
}

TEST_CASE("host checks: a tag that went back is named, even if another one is yet to leave out its guard") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  for (const char* name : {"order", "small"}) leaf::test::add_tag(store, name, 10);
  const std::string backup = file.path() + ".backup";
  fs::copy_file(file.path(), backup);
  for (const char* name : {"order", "small"}) store.grant(leaf::TagName(name), 100);
  const auto named = [&](const leaf::Failover& failover) {
    std::vector<std::string> tags;
    for (const leafctl::Check& check : leafctl::mark_checks(store, failover)) {
      CHECK(check.state == CheckState::failed);
      CHECK(check.detail.find("would grant IDs from 1 on, although this host was granted IDs up to 100:") !=
            std::string::npos);
      CHECK(check.hint.find("--raise-to 101'") != std::string::npos);
      tags.push_back(check.subject);
    }
    return tags;
  };
  leaf::Failover failover{.server = "another", .tags = {{.name = "small"}}};
  CHECK(named(failover).empty());
  fs::copy_file(backup, file.path(), fs::copy_options::overwrite_existing);
  CHECK(named(failover) == std::vector<std::string>{"order"});
  failover.tags[0].state = leaf::FailoverTag::State::left_out;
  CHECK(named(failover) == std::vector<std::string>{"order", "small"});
}
