#pragma once

#include <string>

#include "layout/positions.hpp"
#include "leaf/worker.hpp"
#include "range/granter.hpp"

namespace leaf::snowflake {

/// The windows of one worker, as positions of the store's layout; their label is the worker, their origin the
/// layout. Another worker takes the place of one that was recycled.
class WindowGranter final : public range::Granter {
 public:
  /// `in_memory`: the windows are kept by this program alone, not by the host.
  explicit WindowGranter(const WorkerRequest& request, bool in_memory = false)
      : request_(request), in_memory_(in_memory) {}

  std::string name() const override { return request_.owner; }
  std::string what() const override { return "window of time"; }
  /// Throws Error as Store::acquire_worker() and renew_worker(). In memory it waits as await_worker() does.
  range::Granted grant(Store& store, const range::Filled& filled) const override;
  bool still_serves(const range::DoubleBuffer& buffer, const std::string& origin,
                    UnixTime time) const override;
  void require_alike(const std::string& last, const std::string& next) const override;
  std::string order_mark() const override;
  bool is_timeless() const override { return false; }
  /// A pinned worker is held until the window of the one who fetches is over.
  bool may_take_over() const override { return !request_.worker; }

 private:
  range::Granted grant_next(Store& store, const range::Filled& filled) const;

  const WorkerRequest request_;
  const bool in_memory_;
};

/// What tells the buffer of `request` from others of a host: a pinned worker has windows of its own.
std::string key_of(const WorkerRequest& request);

/// The positions of a window, cut to what fits into a buffer; the rest is leased again as part of the next
/// one. Throws Error (exhausted) outside of the layout's time.
Range positions_of(const WorkerLease& lease, const layout::Positions& positions);

/// Up to when the time from `begin` on is used by whoever has taken all positions before `end`.
UnixTime used_until(UnixTime begin, std::int64_t end, const layout::Positions& positions);

/// How many positions of `window` may be taken before the next one is fetched. Half of it is left to wait for
/// a store that is away; takers of a single unit may never get so far, so there it is one.
std::uint32_t mark_of(const Range& window, const Layout& layout);

}  // namespace leaf::snowflake
