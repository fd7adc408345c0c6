#include "store/retry.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "store/connection.hpp"
#include "text/advice.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

constexpr int max_reconnects = 2;
constexpr int max_pauses = 20;

constexpr int longest_pause = 200;
constexpr int longest_wait = 1000;
/// Before the end of the time, so that the pauses leave none of it out.
constexpr milliseconds last_look{50};

/// Grows from 2 ms to `most` ms, and is drawn at random so that those who met once do not meet again.
milliseconds random_pause(int nth, int most) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = std::min(most, 4 << std::min(nth, 8));
  return milliseconds(std::uniform_int_distribution<int>(2, longest)(random));
}

}  // namespace

Retry retry_after(const Error& error) {
  const std::string_view state = error.sqlstate();
  if (state == "40001" || state == "40P01" || state == "55P03") return Retry::pause;
  if (state == sqlstate::warning || state == sqlstate::read_only) return Retry::reconnect;
  if (state == sqlstate::not_yet || state == sqlstate::too_many_connections) return Retry::wait;
  // A connection or a server that went away, or a pooler that says so: another one may answer. A pooler that
  // leads to another server meanwhile finds the tables of the former one missing there.
  if (state.starts_with("57P") || state == sqlstate::idle_too_long || state == sqlstate::missing_table ||
      state == sqlstate::missing_schema)
    return Retry::reconnect;
  if (state.starts_with("08") && state != sqlstate::unable_to_connect) return Retry::reconnect;
  return Retry::no;
}

bool was_cut_short(const Error& error, std::chrono::steady_clock::time_point begun,
                   std::chrono::steady_clock::time_point deadline,
                   std::chrono::steady_clock::time_point now) {
  constexpr milliseconds too_short{100};
  const std::string_view state = error.sqlstate();
  const bool may_be_cut = state == sqlstate::unable_to_connect || state == sqlstate::timed_out;
  return may_be_cut && now >= deadline && now - begun < too_short;
}

Attempts::Attempts(Clock& clock, milliseconds timeout,
                   std::optional<std::chrono::steady_clock::time_point> latest)
    : clock_(clock),
      once_(timeout == milliseconds::zero()),
      timeout_(allowed(timeout)),
      deadline_(clock.steady_now() + timeout_),
      begun_(deadline_ - timeout_) {
  if (latest && *latest <= deadline_) {
    deadline_ = *latest;
    ends_early_ = true;
  }
}

milliseconds Attempts::time_left() const {
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - clock_.steady_now());
  if (left <= milliseconds::zero()) {
    const std::string waited = ends_early_ ? "in time" : fmt::format("within {}", text_of(timeout_));
    give_up({ErrorCode::unavailable, fmt::format("the store did not answer {}", waited),
             advice("try again, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}),
             sqlstate::timed_out});
  }
  return left;
}

void Attempts::give_up(const Error& error) const {
  const bool hides_more = waited_for_ && was_cut_short(error, begun_, deadline_, clock_.steady_now());
  throw Error(hides_more ? *waited_for_ : error);
}

void Attempts::wait_after(const Error& error) {
  if (once_) throw error;
  const Retry retry = retry_after(error);
  if (retry == Retry::wait) {
    const auto left = std::chrono::floor<milliseconds>(deadline_ - clock_.steady_now());
    if (left <= 2 * last_look) throw error;
    waited_for_.emplace(error);
    clock_.sleep_for(std::min(random_pause(waits_++, longest_wait), left - last_look));
  } else if (retry != Retry::reconnect || reconnects_++ >= max_reconnects) {
    if (retry != Retry::pause || pauses_ >= max_pauses) give_up(error);
    const milliseconds pause = random_pause(pauses_++, longest_pause);
    if (clock_.steady_now() + pause >= deadline_) throw error;
    clock_.sleep_for(pause);
  }
  begun_ = clock_.steady_now();
}

}  // namespace leaf::store
