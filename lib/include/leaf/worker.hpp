#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leaf/export.hpp"
#include "leaf/layout.hpp"
#include "leaf/store_identity.hpp"

namespace leaf {

/// The workers from the first to the last, both included.
struct WorkerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t size() const noexcept { return last - first + 1; }
  bool holds(std::int64_t worker) const noexcept { return worker >= first && worker <= last; }
  bool holds(const WorkerRange& other) const noexcept { return other.first >= first && other.last <= last; }
  friend bool operator==(const WorkerRange&, const WorkerRange&) = default;
};

/// One worker as the store has it.
struct Worker {
  std::int64_t id = 0;
  std::string owner;    ///< who holds it, or held it last; empty: free
  bool leased = false;  ///< its holder has not given it up (it may have died)
  UnixTime window_end;  ///< no ID of a later time was made with it; the next window starts here or later
  UnixTime renewed_at;  ///< the last grant, by the store's clock
  std::chrono::milliseconds clock_offset{};  ///< the holder's clock minus the store's, at that grant
  std::chrono::milliseconds silent_for{};  ///< since that grant, by the store's clock; below 0: it was ahead
  bool in_range = true;                    ///< the store leases it: see Store::worker_range()

  /// Leased while a clock was ahead: nobody gets it before `window_end`, even if it is freed.
  bool leased_ahead() const noexcept {
    return silent_for < -std::chrono::seconds(5) && window_end > renewed_at + silent_for;
  }
};

/// Whether a worker can be leased to an owner of that name: 1 to 255 printable ASCII characters without
/// spaces.
LEAF_EXPORT bool is_owner_name(std::string_view name) noexcept;

/// What `Store::acquire_worker` is asked for.
struct WorkerRequest {
  std::string owner;                     ///< a name that stays the same across restarts; see is_owner_name()
  std::optional<std::int64_t> worker{};  ///< this one and no other
  /// How much time is leased at once. The store may be down for that long; a holder that dies keeps the
  /// worker from others for as long.
  std::chrono::milliseconds window = std::chrono::minutes(10);
  std::chrono::milliseconds recycle_after =
      std::chrono::hours(1);  ///< silence after which a worker may be taken
  std::chrono::milliseconds max_skew = std::chrono::seconds(5);  ///< between the host's clock and the store's
  /// How far ahead of the host's clock a window may begin because this owner has made IDs up to there.
  std::chrono::milliseconds max_backward = std::chrono::seconds(2);
  UnixTime not_before{};           ///< the window starts here or later
  std::optional<Layout> layout{};  ///< the one that the deployment must have
};

/// A worker and a window of time, [begin, end), in which only the holder of the token may make IDs with it:
/// in the units of the layout's time that lie entirely in it. The unit in which one window ends may be the
/// one in which the next holder's window begins.
struct WorkerLease {
  std::int64_t worker = 0;
  std::string token;
  UnixTime begin;
  UnixTime end;
  StoreIdentity store{};           ///< the one that granted it
  std::optional<Layout> layout{};  ///< that store's
  UnixTime asked{};                ///< by the host's clock, which the store has compared with its own
};

}  // namespace leaf
