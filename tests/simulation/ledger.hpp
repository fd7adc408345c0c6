#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leaf/layout.hpp"
#include "leaf/range.hpp"

namespace leaf::simulation {

/// Knows all that was granted and drawn, and says which promise is broken.
class Ledger {
 public:
  /// Of tags, or of the workers of the deployment.
  static constexpr int snowflakes = -1;

  explicit Ledger(const Layout& layout);

  // The store says:

  /// IDs of a tag, or milliseconds of a worker, were committed to a process of `host`. `copy`: of the store,
  /// a higher one after a restore.
  void tag_granted(int tag, Range ids, int host, int process, std::int64_t copy);
  void worker_granted(std::int64_t worker, Range time_ms, int host, int process, std::int64_t copy);

  // Those who draw say:

  /// In one buffer, a call that begins after another one has ended gets higher IDs. What a host was granted
  /// by two copies of a store lies in two buffers.
  struct Order {
    std::int64_t highest = -1;  ///< of the calls that have ended
    std::int64_t copy = 0;      ///< the newest that IDs were drawn from
    int life = 0;               ///< another one once nothing is promised over what was before
  };
  struct Call {
    Order* order;  ///< null: nothing is promised
    std::int64_t above = -1;
    std::int64_t copy = 0;
    int life = 0;
  };
  static Call begin(Order* order) {
    return {.order = order,
            .above = order == nullptr ? -1 : order->highest,
            .copy = order == nullptr ? 0 : order->copy,
            .life = order == nullptr ? 0 : order->life};
  }
  /// `process` is that of its own ranges, or 0 for those of the host.
  void drawn(const Call& call, int tag, Range ids, int host, int process);

  /// Behind the highest ID of a tag that was drawn; 0 if none was.
  std::int64_t end_of_drawn(int tag) const;

  std::uint64_t ids() const noexcept { return ids_; }
  std::uint64_t repeats() const noexcept { return repeats_; }
  /// The first promise that was broken.
  const std::optional<std::string>& broken() const noexcept { return broken_; }
  void fail(std::string what) {
    if (!broken_) broken_ = std::move(what);
  }

  /// The ranges of a tag of which nothing was drawn.
  std::int64_t untouched_ranges(int tag) const;

 private:
  struct Grant {
    Range range;
    int host;
    int process;
    std::int64_t copy;
    std::uint64_t drawn = 0;
  };
  using Grants = std::multimap<std::int64_t, Grant>;

  void note(int tag, std::int64_t id);
  /// Of the store that granted `ids`; none if they lie in no range that was granted.
  std::optional<std::int64_t> copy_of(int tag, Range ids, int host, int process);

  const Layout layout_;
  std::map<int, Grants> tags_;
  std::map<std::int64_t, Grants> workers_;
  std::map<int, std::int64_t> ends_{};
  std::uint64_t ids_ = 0;
  std::uint64_t repeats_ = 0;
  std::optional<std::string> broken_{};
};

}  // namespace leaf::simulation
