#pragma once

#include <chrono>
#include <optional>

#include "leaf/clock.hpp"
#include "leaf/error.hpp"

namespace leaf::store {

/// What may follow a failed call to the store. Repeating is always safe: what an attempt without a known
/// outcome may have granted is given up.
enum class Retry {
  no,
  reconnect,  ///< at once, on a new connection
  pause,      ///< after a short random pause: another client was in the way
  wait,       ///< after a pause that grows, as long as there is time: the server starts again, or is full
};

/// Decides by the error's sqlstate.
Retry retry_after(const Error& error);

/// How long a single attempt may take where the timeout is zero, which stands for: try once.
inline constexpr std::chrono::milliseconds one_attempt{1000};

/// How long a call with that timeout may take in all.
inline std::chrono::milliseconds allowed(std::chrono::milliseconds timeout) {
  return timeout == std::chrono::milliseconds::zero() ? one_attempt : timeout;
}

/// Whether the end of a call's time, at `deadline`, cut an attempt so short that its failure says nothing:
/// why the one before failed says more.
bool was_cut_short(const Error& error, std::chrono::steady_clock::time_point begun,
                   std::chrono::steady_clock::time_point deadline, std::chrono::steady_clock::time_point now);

/// A call's attempts: how many there were and how long it may go on. Not thread safe.
class Attempts {
 public:
  /// None goes on after `latest`.
  Attempts(Clock& clock, std::chrono::milliseconds timeout,
           std::optional<std::chrono::steady_clock::time_point> latest = {});

  /// What is left of the timeout; throws Error (unavailable) if nothing is.
  std::chrono::milliseconds time_left() const;
  /// Returns once the next attempt may begin; rethrows `error` if there is to be none. Of the last attempt,
  /// which the time may have cut short, rather what the one before said.
  void wait_after(const Error& error);

 private:
  [[noreturn]] void give_up(const Error& error) const;

  Clock& clock_;
  bool once_;
  std::chrono::milliseconds timeout_;
  std::chrono::steady_clock::time_point deadline_;
  bool ends_early_ = false;                      ///< at `latest`, before the timeout
  std::chrono::steady_clock::time_point begun_;  ///< the attempt
  int reconnects_ = 0;
  int pauses_ = 0;
  int waits_ = 0;
  std::optional<Error> waited_for_{};
};

/// What is left of a call's time whenever it is asked for, so that several statements of one attempt take no
/// longer in sum. Borrows the attempts.
class TimeLeft {
 public:
  explicit TimeLeft(const Attempts& attempts) : attempts_(attempts) {}
  /// Throws Error (unavailable) if nothing is.
  operator std::chrono::milliseconds() const { return attempts_.time_left(); }

 private:
  const Attempts& attempts_;
};

}  // namespace leaf::store
