#pragma once

#include <filesystem>

#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace leaf::test {

/// A SQLite store, and a clock of the test's for who uses it.
struct ClockedStore {
  explicit ClockedStore(const std::filesystem::path& parent = in_memory) : store(parent) {}

  StoreOptions store_options() {
    StoreOptions options = store.options();
    options.clock = &clock;
    return options;
  }
  Store open() { return Store(store_options()); }

  SqliteStore store;
  ManualClock clock;
};

/// A host that uses such a store: `run`, in `home`, holds its buffers, and nobody fetches behind its callers'
/// backs.
struct TestHost : ClockedStore {
  explicit TestHost(const std::filesystem::path& parent = in_memory) : ClockedStore(parent), home(parent) {}

  HostOptions host_options() const { return {.folder = run, .fetch_ahead = false}; }

  TemporaryFolder home;
  std::filesystem::path run = home.path() / "run";
};

}  // namespace leaf::test
