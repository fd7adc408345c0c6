#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "leaf/layout.hpp"
#include "leaf/range.hpp"
#include "simulation/scheduler.hpp"

namespace leaf::simulation {

/// Knows all that was granted and drawn, and says which promise is broken.
class Ledger {
 public:
  /// Of tags, or of the workers of the deployment.
  static constexpr int snowflakes = -1;

  explicit Ledger(const Layout& layout);

  // The store says:

  /// Which of two stores, which have no IDs in common; and its copy, a higher one after a restore.
  struct Source {
    int store = 0;
    std::int64_t copy = 0;
  };
  /// IDs of a tag, or milliseconds of a worker, were committed to a process of `host`.
  void tag_granted(int tag, Range ids, int host, int process, const Source& source);
  /// A process learned of the range that begins there.
  void tag_delivered(int tag, std::int64_t begin);
  /// The range that ends there lies in its host's buffer.
  void tag_published(int tag, std::int64_t end);
  void worker_granted(std::int64_t worker, Range time_ms, int host, int process, const Source& source);
  /// A process has given back what was left of its window, which ends then.
  void window_given_back(int process, std::int64_t end_ms) { given_back_[process] = end_ms; }

  // Those who draw say:

  /// In one buffer, a call that begins after another one has ended gets higher IDs. What a host was granted
  /// by two stores, or by two copies of one, lies in two buffers.
  struct Reached {
    std::int64_t highest = -1;  ///< of the calls that have ended
    std::int64_t copy = 0;      ///< the newest that IDs were drawn from
  };
  struct Order {
    std::array<Reached, 2> of_stores{};
    int life = 0;  ///< another one once nothing is promised over what was before
  };
  struct Call {
    Order* order;  ///< null: nothing is promised
    Order before{};
    Time begun = Scheduler::the().now();
  };
  static Call begin(Order* order) { return {.order = order, .before = order == nullptr ? Order() : *order}; }
  /// `process` is that of its own ranges, or 0 for those of the host. Returns the store that granted them; 0
  /// if none did.
  int drawn(const Call& call, int tag, Range ids, int host, int process);

  /// Whether an ID that was drawn before may be drawn again; absent: none may.
  std::function<bool(int tag, std::int64_t id)> may_repeat{};

  bool has_given_back(int process) const { return given_back_.contains(process); }
  /// The end of what was left of the window of that process once it had given it back.
  std::optional<std::int64_t> given_back_at(int process) const {
    const auto end = given_back_.find(process);
    return end == given_back_.end() ? std::nullopt : std::optional(end->second);
  }
  /// Behind the highest ID of a tag that was drawn of that store; 0 if none was.
  std::int64_t end_of_drawn(int tag, int store) const;

  std::uint64_t ids() const noexcept { return ids_; }
  std::uint64_t repeats() const noexcept { return repeats_; }
  /// The first promise that was broken.
  const std::optional<std::string>& broken() const noexcept { return broken_; }
  void fail(std::string what) {
    if (!broken_) broken_ = std::move(what);
  }

  /// How many IDs of a tag a process learned that it was granted, and nobody has drawn; `process` 0: those
  /// that were put into a host's buffer.
  std::int64_t undrawn(int tag, int process) const;
  /// When what was drawn last was granted.
  Time last_granted_at() const noexcept { return last_granted_at_; }
  /// The ranges of a tag of which nothing was drawn.
  std::int64_t untouched_ranges(int tag) const;

 private:
  struct Grant {
    Range range;
    int host;
    int process;
    Source source;
    Time granted_at = 0;
    std::uint64_t drawn = 0;
    bool is_delivered = false;
    bool is_published = false;
  };
  using Grants = std::multimap<std::int64_t, Grant>;

  void note(int tag, std::int64_t id);
  void keep_order(const Call& call, int tag, Range ids, int host, const Source& source);
  /// None if `ids` lie in no range that was granted.
  std::optional<Source> source_of(int tag, Range ids, int host, int process);

  const Layout layout_;
  std::map<int, Grants> tags_;
  std::map<std::int64_t, Grants> workers_;
  std::map<std::pair<int, int>, std::int64_t> ends_{};  ///< by tag and store
  std::map<int, std::int64_t> given_back_{};
  Time last_granted_at_ = 0;
  std::uint64_t ids_ = 0;
  std::uint64_t repeats_ = 0;
  std::optional<std::string> broken_{};
};

}  // namespace leaf::simulation
