#include <doctest/doctest.h>
#include <libpq-fe.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/figure.hpp"
#include "support/grant_audit.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/wait_for.hpp"

using leaf::test::PostgresqlCluster;
using leaf::test::wait_for;

namespace {

/// The server's processes beside its first one.
std::vector<pid_t> children_of(pid_t process) {
  const std::string task = std::to_string(process);
  std::ifstream in("/proc/" + task + "/task/" + task + "/children");
  return {std::istream_iterator<pid_t>(in), {}};
}

/// Programs that take grants all the time, and note what they got.
class Load {
 public:
  Load(const std::string& url, std::size_t programs) {
    for (std::size_t i = 0; i < programs; ++i)
      threads_.emplace_back([this, url, i](const std::stop_token& stop) { draw(url, i, stop); });
  }

  ~Load() { pause(false); }

  void pause(bool paused) {
    paused_ = paused;
    paused_.notify_all();
  }
  /// How many grants were acknowledged.
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return taken_ + given_.size();
  }
  /// Those since the last call.
  std::vector<std::pair<std::string, leaf::Range>> take() {
    const std::lock_guard lock(mutex_);
    taken_ += given_.size();
    return std::exchange(given_, {});
  }

 private:
  void draw(const std::string& url, std::size_t number, const std::stop_token& stop) {
    const std::string tag = number % 2 == 0 ? "order" : "user";
    leaf::Store store({.url = url, .timeout = std::chrono::milliseconds(500)});
    while (!stop.stop_requested()) {
      paused_.wait(true);
      try {
        const leaf::Range range = number % 3 == 0 ? store.grant(leaf::TagName(tag), 3).range
                                                  : store.grant_segment(leaf::TagName(tag)).range;
        const std::lock_guard lock(mutex_);
        given_.emplace_back(tag, range);
      } catch (const leaf::Error& error) {
        if (error.code() == leaf::ErrorCode::unavailable) continue;
        std::fprintf(stderr, "%s\n", error.what());
        std::abort();
      }
    }
  }

  std::atomic<bool> paused_{false};
  std::mutex mutex_;
  std::vector<std::pair<std::string, leaf::Range>> given_;
  std::size_t taken_ = 0;
  std::vector<std::jthread> threads_;  // the last, so that they end first
};

/// Kills processes of the server under load, `times` times; what was acknowledged before has to be there
/// after it.
void kill_again_and_again(int times) {
  PostgresqlCluster cluster(
      "fsync = on\nfull_page_writes = on\ncheckpoint_timeout = 30s\nmax_wal_size = 32MB");
  {
    leaf::Store store({.url = cluster.url()});
    store.migrate();
    for (const char* name : {"order", "user"}) store.add_tag({.name = leaf::TagName(name), .step = 10});
  }
  leaf::test::GrantAudit audit(cluster.url());
  std::mt19937_64 random(11);
  std::size_t checked = 0;
  Load load(cluster.url(), 3);
  for (int i = 0; i < times; ++i) {
    const std::size_t enough = load.size() + random() % 40;
    REQUIRE(wait_for([&] { return load.size() >= enough; }));
    const std::vector<pid_t> children = children_of(cluster.postmaster());
    const auto way = random() % 3;
    const auto are_gone = [&] {
      const std::vector<pid_t> now = children_of(cluster.postmaster());
      return std::ranges::none_of(children,
                                  [&](pid_t child) { return std::ranges::find(now, child) != now.end(); });
    };
    // Where one dies the server throws all others out and recovers, unless that one was about to end anyway.
    const bool recovers = way == 0 && !children.empty() &&
                          ::kill(children[random() % children.size()], SIGKILL) == 0 &&
                          wait_for(are_gone, std::chrono::seconds(10));
    if (!recovers) {
      if (way == 1) ::kill(cluster.postmaster(), SIGSTOP);  // so that it starts none of them anew
      if (way == 1) {
        for (const pid_t child : children) ::kill(child, SIGKILL);
      }
      cluster.kill();
      cluster.start();
    }
    load.pause(true);
    const auto is_up = [&] {
      try {
        audit.reconnect();
        audit.committed("order");
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    REQUIRE(wait_for(is_up));
    for (const auto& [tag, range] : load.take()) {
      audit.given(tag, range);
      ++checked;
    }
    load.pause(false);
  }
  leaf::test::figure("server_kill/postgresql", times, "kills");
  leaf::test::figure("server_kill/postgresql", checked, "acknowledged grants");
  CHECK(checked > 0);
}

}  // namespace

TEST_CASE(
    "kill: a server that is killed at any moment has every grant that it acknowledged, and grants none "
    "twice") {
  kill_again_and_again(5);
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("kill: hundreds of times") {
    kill_again_and_again(300);
  }
}
