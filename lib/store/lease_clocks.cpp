#include "store/lease_clocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/unix_time.hpp"
#include "text/advice.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

/// The most that --max-skew takes.
constexpr milliseconds most_skew = std::chrono::hours(24);
/// No buffered window ends further ahead: none is longer than a day, and two are buffered.
constexpr milliseconds most_ahead = std::chrono::hours(48);
/// What is behind by so little has caught up before anybody has mended it.
constexpr milliseconds short_wait = std::chrono::minutes(1);
/// A clock that a slow link lets look wrong does so again and again.
constexpr int most_late = 5;

Advice advice_to_start_again(const Remedy& release) {
  return advice(
      "set the clock right; if it is right already, release the owner's workers{}, then start this program "
      "again"_hint,
      release);
}

}  // namespace

std::chrono::milliseconds lead_of(const WorkerRequest& request, const Layout& layout) {
  return std::max(request.max_backward, layout.unit()) + layout.unit();
}

LeaseClocks::LeaseClocks(const WorkerRequest& request, UnixTime wish, const Layout& layout, Clock& clock)
    : owner_(request.owner),
      wish_(wish),
      max_skew_(request.max_skew),
      lead_(lead_of(request, layout)),
      longest_ahead_(std::max(most_ahead, 2 * request.window)),
      layout_(layout),
      clock_(clock) {}

UnixTime LeaseClocks::host_time() const {
  return store::host_time(clock_);
}

void LeaseClocks::ask() {
  asked_ = host_time();
  // Without a wish, what is wrong with a clock before 1970 is left to the layout.
  if (wish_ > UnixTime{} && wish_ > asked_ + longest_ahead_)
    throw behind(wish_ - asked_, "what is buffered for");
}

Error LeaseClocks::behind(milliseconds distance, const char* what) const {
  return {ErrorCode::refused,
          fmt::format("the clock is {} behind {} '{}'", rough_text_of(distance), what, owner_),
          advice_behind(distance, owner_)};
}

bool LeaseClocks::judge(UnixTime before, UnixTime after, const SeenClocks& seen) {
  const auto refuse_skew = [&](milliseconds distance, const char* direction) {
    const bool may_be_allowed = distance <= most_skew && seen.given_up.value_or(UnixTime{}) <= before + lead_;
    throw Error(ErrorCode::refused,
                fmt::format("this host's clock is {} {} the store's", rough_text_of(distance), direction),
                may_be_allowed ? advice("set the clocks right, or allow more skew{}, up to 24h"_hint,
                                        Remedy{Remedy::Kind::allow_more_skew})
                               : "set the clocks right"_hint);
  };
  if (seen.store > after + max_skew_) refuse_skew(seen.store - after, "behind");
  if (seen.store < before - max_skew_) refuse_skew(before - seen.store, "ahead of");
  if (seen.latest_grant && *seen.latest_grant > after + max_skew_)
    throw behind(*seen.latest_grant - after, "an earlier grant to");
  if (seen.given_up && *seen.given_up > after + lead_) throw behind(*seen.given_up - after, "the last ID of");
  const UnixTime begin = std::max({wish_, seen.given_up.value_or(wish_), std::min(seen.store, before)});
  if (begin < first_begin()) layout_.ticks_at(begin);                  // throws
  if (begin > last_begin()) layout_.ticks_at(begin + layout_.unit());  // throws

  // By how much the store's clock may have been ahead of asked() when the attempt came there.
  const UnixTime store_then = answered_ + (seen.store - before);
  const bool was_late = store_then > latest() || seen.latest_grant.value_or(UnixTime{}) > latest() ||
                        seen.given_up.value_or(UnixTime{}) > latest_given_up() || asked_ > after;
  if (!was_late) return false;
  if (++late_ > most_late) {
    throw Error(ErrorCode::unavailable,
                fmt::format("the store answers too late to compare clocks within {}", text_of(max_skew_)),
                advice("try again, or allow more skew{}"_hint, Remedy{Remedy::Kind::allow_more_skew}));
  }
  slack_ = std::max(slack_, 2 * (after - before) + milliseconds(1));
  return true;
}

Advice advice_behind(milliseconds distance, const std::string& owner, bool in_memory) {
  if (distance <= short_wait) return "wait until it has caught up, or set it right"_hint;
  const Remedy release{.kind = Remedy::Kind::release_workers, .name = owner};
  if (in_memory) return advice_to_start_again(release);
  return advice("set the clock right; if it is right already, release the owner's workers{} to go on"_hint,
                release);
}

Error for_windows_in_memory(const Error& error) {
  const auto& remedies = error.remedies();
  if (remedies.size() != 1 || remedies[0].kind != Remedy::Kind::release_workers) return error;
  return {error.code(), error.what(), advice_to_start_again(remedies[0]), error.sqlstate()};
}

}  // namespace leaf::store
