#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "leaf/clock.hpp"
#include "leaf/error.hpp"
#include "leaf/layout.hpp"
#include "leaf/worker.hpp"

namespace leaf::store {

/// What a store tells of the clocks that a lease hangs on.
struct SeenClocks {
  UnixTime store;
  std::optional<UnixTime> latest_grant;  ///< of the workers that the owner has
  std::optional<UnixTime> given_up;      ///< the latest end of what the owner made and gave back
};

/// How far ahead of the clock the end of what was given back may lie: it is a whole unit's.
std::chrono::milliseconds lead_of(const WorkerRequest& request, const Layout& layout);

/// The clocks at a lease. Their limits go with its statement, so that one which is refused writes nothing;
/// explain() finds out afterwards what was refused.
class LeaseClocks {
 public:
  /// For a lease that begins at `wish` or later.
  LeaseClocks(const WorkerRequest& request, UnixTime wish, const Layout& layout, Clock& clock);

  /// Looks at the host's clock for the next attempt. Throws Error (refused) if what is wished for lies too
  /// far ahead.
  void ask();
  /// After the attempt.
  void note_answer() { answered_ = host_time(); }

  UnixTime asked() const noexcept { return asked_; }
  UnixTime earliest_store() const noexcept { return asked_ - max_skew_; }
  /// No clock that can be trusted has shown more, now or at an earlier grant to this owner.
  UnixTime latest() const noexcept { return asked_ + max_skew_ + slack_; }
  UnixTime latest_given_up() const noexcept { return asked_ + lead_; }
  UnixTime first_begin() const noexcept { return layout_.epoch(); }
  UnixTime last_begin() const noexcept { return layout_.last_time(); }

  /// After an attempt without a lease: `look` asks the store for its clocks. Throws Error (refused,
  /// exhausted) for what they forbid. True if the attempt was only too old when it reached the store, and is
  /// to be made again.
  template <class Look>
  bool explain(Look look) {
    const UnixTime before = host_time();
    const SeenClocks seen = look(before);
    return judge(before, host_time(), seen);
  }

 private:
  UnixTime host_time() const;
  bool judge(UnixTime before, UnixTime after, const SeenClocks& seen);
  Error behind(std::chrono::milliseconds distance, const char* what) const;

  const std::string owner_;
  const UnixTime wish_;
  const std::chrono::milliseconds max_skew_;
  const std::chrono::milliseconds lead_;
  const std::chrono::milliseconds longest_ahead_;
  const Layout layout_;
  Clock& clock_;
  UnixTime asked_;
  UnixTime answered_;
  std::chrono::milliseconds slack_{};  ///< for the time that a question takes
  int late_ = 0;                       ///< attempts that were too old
};

/// What to do where the clock is `distance` behind what `owner` has made or was leased. `in_memory`: this
/// program keeps windows of that time in its own memory, where no other can drop them.
Advice advice_behind(std::chrono::milliseconds distance, const std::string& owner, bool in_memory = false);

/// `error` of a lease to such a program, with that advice where others are told to release workers alone.
Error for_windows_in_memory(const Error& error);

}  // namespace leaf::store
