#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/figure.hpp"
#include "support/manual_clock.hpp"
#include "support/recorded_disk.hpp"
#include "support/sqlite_session.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::Store;
using leaf::TagName;
using leaf::test::ManualClock;
using leaf::test::RecordedDisk;
using leaf::test::SqliteSession;
using leaf::test::TemporaryFolder;
using Fault = RecordedDisk::Fault;

namespace {

/// What was acknowledged, and so has to outlive the power.
struct Promises {
  std::map<std::string, std::int64_t> granted_end;    ///< of each tag
  std::map<std::int64_t, leaf::UnixTime> window_end;  ///< of each worker
};

const std::vector<std::string> names{"order", "user", "item"};

/// How often the power was cut, and how often something acknowledged was gone after that.
struct Tally {
  int cuts = 0;
  int losses = 0;
  int recoveries = 0;  ///< a journal was there
};

/// A store whose power fails again and again: after each cut it goes on with what was left.
class Life {
 public:
  Life(std::uint64_t seed, Fault fault) : random_(seed), fault_(fault) { folder_ = new_folder(); }

  /// Works for a while, and looks at what `cuts` cuts during that would each have left.
  void live(int cuts, Tally& tally) {
    std::vector<std::pair<std::size_t, Promises>> history{{0, promises_}};
    const auto disk = std::make_unique<RecordedDisk>(folder_->path(), fault_);
    {
      std::optional<Store> store;
      for (int i = 0; i < 6; ++i) {
        // A short-lived program opens the file anew each time.
        if (!store || random_() % 2 == 0) store.emplace(options_in(folder_->path()));
        work(*store);
        history.emplace_back(disk->calls(), promises_);
      }
    }
    std::unique_ptr<TemporaryFolder> next;
    for (int i = 0; i < cuts; ++i) {
      const std::size_t cut = random_() % (disk->calls() + 1);
      const auto after = [&](const auto& entry) { return entry.first > cut; };
      const Promises& held = std::prev(std::ranges::find_if(history, after))->second;
      auto left = new_folder();
      disk->leave(cut, random_, left->path());
      ++tally.cuts;
      std::error_code ignored;
      tally.recoveries += fs::file_size(left->path() / "leaf.db-journal", ignored) > 0 && !ignored;
      if (i + 1 == cuts) {
        promises_ = held;
        next = std::move(left);
      } else {
        tally.losses += are_kept(held, left->path()) ? 0 : 1;
      }
    }
    folder_ = std::move(next);
  }

  /// Whether all grants that follow lie above what was acknowledged.
  bool are_kept() { return are_kept(promises_, folder_->path()); }

 private:
  static std::unique_ptr<TemporaryFolder> new_folder() {
    return std::make_unique<TemporaryFolder>("/dev/shm");
  }

  leaf::StoreOptions options_in(const fs::path& folder) {
    leaf::StoreOptions options;
    options.url = "sqlite:" + (folder / "leaf.db").string();
    options.clock = &clock_;
    return options;
  }

  void work(Store& store) {
    store.migrate();
    const std::string& name = names[random_() % names.size()];
    std::int64_t& end = promises_.granted_end[name];
    const std::vector<leaf::Tag> tags = store.tags();
    const bool is_there = std::ranges::find(tags, name, &leaf::Tag::name) != tags.end();
    switch (is_there ? random_() % 7 : 0) {
      case 0:
        end = std::max(end, store.add_tag({.name = TagName(name)}).next_id);
        break;
      case 1:
        end = store.update_tag(TagName(name), {.raise_to = end + 1'000}).next_id;
        break;
      case 2:
        store.remove_tag(TagName(name));
        break;
      case 3:
        lease(store);
        break;
      case 4:
        end = store.grant_segment(TagName(name)).range.hi;
        break;
      default:
        end = store.grant(TagName(name), 1).range.hi;
        break;
    }
  }

  void lease(Store& store) {
    const leaf::WorkerLease lease = store.acquire_worker({.owner = "here"});
    promises_.window_end[lease.worker] = lease.end;
    clock_.advance(10min);
  }

  bool are_kept(const Promises& held, const fs::path& folder) {
    try {
      Store store(options_in(folder));
      if (held.granted_end.empty()) return true;
      for (const auto& [name, end] : held.granted_end) {
        if (end == 0) continue;
        const std::optional<std::int64_t> removed_at = store.end_of_removed(TagName(name));
        if (removed_at.value_or(end) < end) return false;
        if (!removed_at && store.grant(TagName(name), 1).range.lo < end) return false;
      }
      for (const leaf::Worker& worker : store.workers()) {
        const auto end = held.window_end.find(worker.id);
        if (end != held.window_end.end() && worker.window_end < end->second) return false;
      }
      return store.workers().size() >= held.window_end.size() &&
             SqliteSession((folder / "leaf.db").string()).value("PRAGMA integrity_check") == "ok";
    } catch (const leaf::Error&) {
      return false;  // a tag that was acknowledged is gone, or the file cannot be read
    }
  }

  std::mt19937_64 random_;
  const Fault fault_;
  ManualClock clock_;
  std::unique_ptr<TemporaryFolder> folder_;
  Promises promises_;
};

/// Lives until `cuts` cuts were looked at, or something is lost.
Tally cut(int cuts, Fault fault) {
  Tally tally;
  for (std::uint64_t seed = 1; tally.cuts < cuts && tally.losses == 0; ++seed) {
    Life life(seed, fault);
    for (int i = 0; i < 8 && tally.losses == 0; ++i) {
      life.live(12, tally);
      tally.losses += life.are_kept() ? 0 : 1;
    }
  }
  return tally;
}

void count(const Tally& tally) {
  leaf::test::figure("power_cut/sqlite", tally.cuts, "cuts");
  leaf::test::figure("power_cut/sqlite", tally.recoveries, "of them with a journal to undo");
  leaf::test::figure("power_cut/sqlite", tally.losses, "with a loss");
}

/// How many of `cuts` cuts lose a row that SQLite had committed in these modes.
int losses_of(const std::string& journal_mode, const std::string& synchronous, int cuts) {
  std::mt19937_64 random(7);
  int losses = 0;
  for (int i = 0; i < cuts; i += 10) {
    TemporaryFolder folder("/dev/shm");
    const auto path = [](const fs::path& where) { return (where / "leaf.db").string(); };
    {
      SqliteSession session(path(folder.path()));
      REQUIRE(session.run("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)"));
    }
    RecordedDisk disk(folder.path());
    std::vector<std::size_t> ends;
    {
      SqliteSession session(path(folder.path()));
      session.value("PRAGMA journal_mode = " + journal_mode);
      REQUIRE(session.run("PRAGMA synchronous = " + synchronous));
      for (int n = 0; n < 5; ++n) {
        REQUIRE(session.run("UPDATE t SET n = n + 1"));
        ends.push_back(disk.calls());
      }
    }
    for (int n = 0; n < 10; ++n) {
      const std::size_t at = random() % (ends.back() + 1);
      TemporaryFolder left("/dev/shm");
      disk.leave(at, random, left.path());
      const auto committed = std::ranges::count_if(ends, [&](std::size_t end) { return end <= at; });
      const std::string found = SqliteSession(path(left.path())).value("SELECT n FROM t");
      if (found.empty() || std::stoll(found) < committed) ++losses;
    }
  }
  return losses;
}

}  // namespace

TEST_CASE("power cut: the disk that is played loses what SQLite's documentation says, and nothing else") {
  constexpr int cuts = 200;
  CHECK(losses_of("TRUNCATE", "EXTRA", cuts) == 0);
  CHECK(losses_of("TRUNCATE", "FULL", cuts) == 0);
  CHECK(losses_of("DELETE", "EXTRA", cuts) == 0);
  CHECK(losses_of("WAL", "FULL", cuts) == 0);
  CHECK(losses_of("TRUNCATE", "OFF", cuts) > 0);
  CHECK(losses_of("WAL", "NORMAL", cuts) > 0);
  // The journal of a commit may come back, and undo it.
  CHECK(losses_of("DELETE", "FULL", cuts) > 0);
}

TEST_CASE("power cut: whatever is left of unsynced writes, no acknowledged grant or window comes again") {
  const Tally tally = cut(800, Fault::none);
  count(tally);
  CHECK(tally.losses == 0);
  CHECK(tally.recoveries > 80);
}

TEST_CASE("power cut: a disk that syncs nothing is found out, and one that forgets names") {
  CHECK(cut(1'500, Fault::ignores_syncs).losses > 0);
  CHECK(cut(1'500, Fault::ignores_syncs_of_folders).losses > 0);
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("power cut: a hundred thousand cuts") {
    const Tally tally = cut(100'000, Fault::none);
    count(tally);
    CHECK(tally.losses == 0);
  }
}
