#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/worker.hpp"

namespace leaf {

struct SnowflakeOptions {
  /// The worker to lease, and for how long at a time.
  WorkerRequest worker;
  /// How far the clock may be behind the last ID before none are made: as long as that it is taken for a
  /// small step back.
  std::chrono::milliseconds max_backward = std::chrono::seconds(2);
  /// How long a call waits for a window, or for the clock to move on. Zero: until one lease, its own or one
  /// under way, has ended, a second at most.
  std::chrono::milliseconds timeout{5000};
  /// Called from a background thread, and never at the same time twice, when a window could not be leased and
  /// that will be tried again; may be empty. It must not call the generator.
  std::function<void(const Error&)> on_renewal_failure{};
  /// Where the processes of this host share the worker's windows; absent: they are this generator's own, and
  /// what it has not used it gives back when it ends.
  std::optional<HostOptions> host{};
  /// At the end the worker is freed for any owner, as by Store::release_worker(): for generators whose owners
  /// do not come again, such as those of containers. Not for the windows of a host, which others draw from.
  bool release_at_end = false;
};

/// Makes snowflake IDs with a worker that it leases from the store, in windows of time that the store grants
/// to nobody else. No ID repeats, whatever clocks, schedulers and other holders of the worker do; a clock
/// decides only how true the time in an ID is, and whether one can be made now.
///
/// Thread safe: any number of threads may draw at once. Not for use in a child process after fork(), unless
/// its windows are the host's and `fetch_ahead` is off. If another thread was in a call of it at the fork,
/// calls in the child that its windows do not serve throw Error (failed).
class LEAF_EXPORT SnowflakeGenerator {
 public:
  /// Leases a worker and its first window. Throws Error as Store::acquire_worker(), and `usage` for invalid
  /// options.
  SnowflakeGenerator(const StoreOptions& store, const SnowflakeOptions& options);
  /// Gives the unused rest of the window back, or the worker, if the store can be reached. No call may be
  /// under way.
  ~SnowflakeGenerator();
  SnowflakeGenerator(const SnowflakeGenerator&) = delete;
  SnowflakeGenerator& operator=(const SnowflakeGenerator&) = delete;

  /// The next ID: greater than any whose call returned before this one began, in this generator, if the
  /// layout's time comes first. Takes no lock and makes no system call but to read the clock, unless it has
  /// to wait: for the next unit of time where all sequence numbers of this one are used.
  ///
  /// At full rate the time in an ID may be up to 20 ms ago, so that the layout's ceiling is reached on a busy
  /// host too; and of a thread that draws one ID after the other, a microsecond apart at most, up to 100 go
  /// by one reading of the clock, within one tick of it (Clock::tick()).
  ///
  /// Throws Error: `refused` if the clock is behind the last ID by more than `max_backward` (after it was far
  /// ahead and set right, Store::release_workers() and drop_host_windows_ahead(), or without a host's buffer
  /// a new generator, go on by the clock: no ID repeats, but they are lower then), or not to be trusted when
  /// a window is leased; `exhausted` before the layout's epoch and past its last bit, or if all workers are
  /// taken; `unavailable` if no window was to be had, or the clock stood still, for the timeout, or the next
  /// unit of time begins after it.
  std::int64_t next();
  /// The next ID, if the thread's last reading of the clock still serves. False where next() is to be called,
  /// which may wait; always for a thread that does not draw one ID after the other.
  bool try_next(std::int64_t& id) noexcept;
  /// As many of `ids` as can be made at once, in increasing order; returns how many. 0 where next() would
  /// wait: for the next unit of time, or for a window. Throws Error as next(), but never `unavailable`.
  std::size_t try_next(std::span<std::int64_t> ids);
  /// Fills `ids` in increasing order. Throws as next(); what was made until then is lost.
  void next(std::span<std::int64_t> ids);

  /// With HostOptions::fetch_ahead off: true if the next window is due and nobody of this host is at it.
  /// Whoever gets true has to call fetch() soon, in another process perhaps.
  bool claim_fetch();
  /// Leases the next window, unless that is not needed any more. Throws Error as next().
  void fetch();

  /// The deployment's layout.
  const Layout& layout() const noexcept;
  /// The store whose time is used. Another deployment since the last call makes IDs that may be equal to
  /// those of before.
  StoreIdentity store() const;
  /// The worker in use. Another one takes its place when it was recycled meanwhile.
  std::int64_t worker() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leaf
