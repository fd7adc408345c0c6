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

  /// `other_layout`: of the other store, where that has one of its own.
  explicit Ledger(const Layout& layout, const std::optional<Layout>& other_layout = {});

  // The store says:

  /// Which of two stores, which have no IDs in common; and its copy, a higher one after a restore.
  struct Source {
    int store = 0;
    std::int64_t copy = 0;
  };
  /// IDs of a tag, or milliseconds of a worker, were committed to a process of `host`.
  /// `life` tells one from the next of a tag that is removed and added again.
  void tag_granted(int tag, Range ids, int host, int process, const Source& source, const std::string& life);
  /// A process learned of the range that begins there.
  void tag_delivered(int tag, std::int64_t begin);
  /// The range that ends there lies in its host's buffer.
  void tag_published(int tag, std::int64_t end);
  void worker_granted(std::int64_t worker, Range time_ms, int host, int process, const Source& source,
                      bool is_renewed);
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
    int life = 0;            ///< another one once nothing is promised over what was before
    Time granted_after = 0;  ///< nothing is promised of what was granted earlier
  };
  struct Call {
    Order* order;  ///< null: nothing is promised
    Order before{};
    Time begun = Scheduler::the().now();
  };
  static Call begin(Order* order) { return {.order = order, .before = order == nullptr ? Order() : *order}; }
  /// `process` is that of its own ranges, or 0 for those of the host; `layout` is that of snowflakes. Returns
  /// the store that granted them; 0 if none did.
  int drawn(const Call& call, int tag, Range ids, int host, int process, const Layout* layout = nullptr);
  /// No worker's time that `process` asks for begins earlier.
  void note_not_before(int process, UnixTime time) { not_before_[process] = time.time_since_epoch().count(); }
  /// Has `process` make all its snowflakes in `layout`.
  void note_layout(int process, const Layout& layout) { made_in_.insert_or_assign(process, layout); }

  /// What the clock of a host shows.
  std::function<Time(int host)> clock_of{};

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

  /// Whether a range of that tag was granted that ends there.
  bool has_grant_up_to(int tag, std::int64_t end) const;
  /// How many IDs of a tag a process learned that it was granted, and nobody has drawn; `process` 0: those
  /// that were put into a host's buffer.
  std::int64_t undrawn(int tag, int process) const;
  /// What became of ranges of a tag that a process was granted, or, with `process` 0, that were put into its
  /// host's buffer: those of one store are drawn one after the other, each to its end. Says which was left
  /// before; empty: none was.
  std::string left_behind(int tag, int process) const;
  /// When a range of that tag was put into its host's buffer last.
  Time published_at(int tag) const {
    const auto found = published_at_.find(tag);
    return found == published_at_.end() ? 0 : found->second;
  }
  /// When what was drawn last was granted.
  Time last_granted_at() const noexcept { return last_granted_at_; }
  /// The same, of the first of several ranges that it lies in.
  Time first_granted_at() const noexcept { return first_granted_at_; }
  /// Since when, but for what it was kept waiting, the process knows that the tag, of which it has drawn
  /// `id`, has been removed since: for how long now; 0 if it is not so.
  Time known_as_former(int tag, std::int64_t id, const Process& process) const;
  /// The ranges of a tag, granted to that process by that store, of which some was drawn and some was not.
  std::int64_t begun_ranges(int tag, int process, int store) const;
  /// The ranges of a tag of which nothing was drawn.
  std::int64_t untouched_ranges(int tag) const;

 private:
  struct Grant {
    Range range;
    int host;
    int process;
    Source source;
    Time granted_at = 0;
    std::string life{};
    std::uint64_t drawn = 0;
    Time delivered_at = 0;
    Time first_drawn_at = 0;
    bool is_delivered = false;
    bool is_published = false;
  };
  using Grants = std::multimap<std::int64_t, Grant>;

  void note(int tag, std::int64_t id, int store);
  void require_good_lease(std::int64_t worker, Range time_ms, int host, int process, const Source& source,
                          bool is_renewed);
  const Layout& layout_of(int store) const { return store != 0 && other_layout_ ? *other_layout_ : layout_; }
  void keep_order(const Call& call, int tag, Range ids, int host, const Source& source);
  /// None if `ids` lie in no range that was granted.
  std::optional<Source> source_of(int tag, Range ids, int host, int process, const Layout* layout);

  const Layout layout_;
  const std::optional<Layout> other_layout_;
  struct Life {
    std::string life;
    Time known_since;
    Time kept_waiting;
  };
  std::map<std::pair<int, int>, Life>
      lives_{};  ///< the last that a process was granted of, by process and tag
  std::map<int, std::int64_t> not_before_{};
  std::map<int, Layout> made_in_{};
  std::map<int, int> useless_leases_{};         ///< by process, since its last ID
  std::map<std::int64_t, int> leases_ahead_{};  ///< of a worker, one after the other
  std::map<int, Grants> tags_;
  std::map<std::int64_t, Grants> workers_;
  std::map<std::pair<int, int>, std::int64_t> ends_{};  ///< by tag and store
  std::map<int, std::int64_t> given_back_{};
  std::map<int, Time> published_at_{};
  Time last_granted_at_ = 0;
  Time first_granted_at_ = 0;  ///< of what was drawn last, which may be of several grants
  std::uint64_t ids_ = 0;
  std::uint64_t repeats_ = 0;
  std::optional<std::string> broken_{};
};

}  // namespace leaf::simulation
