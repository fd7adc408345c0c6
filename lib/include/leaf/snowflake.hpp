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
  /// How far the clock may be behind the last ID. Up to this, IDs go on from the last one; beyond it, none
  /// are made.
  std::chrono::milliseconds max_backward = std::chrono::seconds(2);
  /// How long a call waits for a window, or for the clock to move on. Zero: until one lease has ended, its
  /// own or one under way, for a second at most.
  std::chrono::milliseconds timeout{5000};
  /// Called from a background thread, never twice at the same time, when a window could not be leased and
  /// will be asked for again; may be empty. It must not call the generator.
  std::function<void(const Error&)> on_renewal_failure{};
  /// Where the processes of this host share the worker's windows. Absent: they are this generator's own, and
  /// it gives back what is unused when it ends.
  std::optional<HostOptions> host{};
  /// Frees the worker for any owner at the end, as Store::release_worker() does: for owners that do not come
  /// back, such as containers. Not for the windows of a host, which others draw from.
  bool release_at_end = false;
};

/// Makes snowflake IDs with a worker that it leases from the store, in windows of time that the store grants
/// to nobody else. No ID repeats, whatever clocks, schedulers and other holders of the worker do; a clock
/// decides only how accurate the time in an ID is, and whether one can be made now.
///
/// Thread safe: any number of threads may draw at once. Do not use it in a child process after fork(), unless
/// its windows are the host's and `fetch_ahead` is off. If another thread was in one of its calls at the
/// fork, calls in the child that its windows cannot serve throw Error (failed).
class LEAF_EXPORT SnowflakeGenerator {
 public:
  /// Leases a worker and its first window. Throws Error as Store::acquire_worker(), and `usage` for invalid
  /// options.
  SnowflakeGenerator(const StoreOptions& store, const SnowflakeOptions& options);
  /// Gives back the unused rest of the window, or the worker, if the store can be reached. No call may be
  /// under way.
  ~SnowflakeGenerator();
  SnowflakeGenerator(const SnowflakeGenerator&) = delete;
  SnowflakeGenerator& operator=(const SnowflakeGenerator&) = delete;

  /// The next ID: greater than any whose call returned before this one began, in this generator, from the
  /// same store(), if the layout's time comes first. Takes no lock and makes no system call except to read
  /// the clock and to ask for the next window, unless it has to wait for the next unit of time because all
  /// sequence numbers of this one are used.
  ///
  /// At full rate, the time in an ID may be up to 20 ms old, so that a busy host reaches the layout's ceiling
  /// too. If a thread draws one ID after the other, at most a microsecond apart, up to 100 of them share one
  /// reading of the clock, within one tick of it (Clock::tick()).
  ///
  /// Throws Error: `refused` if the clock is behind the last ID by more than `max_backward`, or cannot be
  /// trusted when a window is leased; `exhausted` before the layout's epoch and past its last bit, or if all
  /// workers are taken; `unavailable` if no window could be leased within the timeout, if the clock stood
  /// still for that long, or if the next unit of time begins after it. Once a clock that was far ahead is set
  /// right, IDs go on at the clock's time after Store::release_workers() and drop_host_windows_ahead(), or
  /// with a new generator if there is no host's buffer: no ID repeats, but they are lower than the last ones.
  std::int64_t next();
  /// The next ID, if the thread's last reading of the clock still serves. If false, call next(), which may
  /// wait; always false for a thread that does not draw one ID after the other.
  bool try_next(std::int64_t& id) noexcept;
  /// As many of `ids` as can be made at once, as next() does; returns how many. 0 where that would wait: for
  /// the next unit of time, or for a window. Throws Error as next(), but never `unavailable`.
  std::size_t try_next(std::span<std::int64_t> ids);
  /// Fills `ids` in the order of next(), with IDs of one store. Throws as next(); what it had made before is
  /// lost.
  void next(std::span<std::int64_t> ids);

  /// With HostOptions::fetch_ahead off: true if the next window is due and no process of this host is leasing
  /// it.
  bool is_fetch_due();
  /// The same, but whoever gets true must call fetch() soon, perhaps in another process.
  bool claim_fetch();
  /// With HostOptions::fetch_ahead off: true if it is time to ask the store whether it is still the same one;
  /// making a new generator does that.
  bool is_check_due();
  /// Leases the next window, unless it is no longer needed. Throws Error as next().
  void fetch();

  /// The deployment's layout.
  const Layout& layout() const noexcept;
  /// The store that leased the time in use. If its deployment is not that of the last call, IDs may equal
  /// earlier ones; if only its copy is not, they may be lower.
  StoreIdentity store() const;
  /// Another number whenever IDs may have come to be another store's, or from another window, which need not
  /// be a later one. Whoever makes one answer in several calls looks before the first and after the last of
  /// them: IDs of two stores may be equal.
  std::uint64_t store_changes() const noexcept;
  /// The worker in use. Another one takes its place if it is recycled. While the host has no window, as after
  /// forget_store(), the last one that this generator has seen; 0 if it has seen none.
  std::int64_t worker() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leaf
