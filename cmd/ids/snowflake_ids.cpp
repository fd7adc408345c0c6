#include "ids/snowflake_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/missing_store.hpp"
#include "ids/id_lines.hpp"
#include "ids/one_store.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/snowflake.hpp"
#include "tags/granted_marks.hpp"
#include "terminal/detached_process.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/interruptible_clock.hpp"
#include "terminal/remedy_text.hpp"
#include "terminal/waiting_notice.hpp"
#include "text/hint.hpp"
#include "text/rough_duration.hpp"
#include "text/time_text.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

using std::chrono::milliseconds;

/// For a clock that was set back a little, and a slow reader.
constexpr milliseconds spare_window = std::chrono::seconds(5);

/// From so many IDs on an output takes noticeable time.
constexpr std::int64_t long_output = 100'000;

/// As long as `count` IDs take, so that a process that is killed keeps its worker from others but briefly.
/// One unit more than they fill, for a window may begin in the middle of one.
milliseconds window_for(std::int64_t count, const leaf::Layout& layout, milliseconds longest) {
  const std::int64_t units = (count - 1) / (layout.max_sequence() + 1) + 2;
  if (units > longest / layout.unit()) return longest;
  return std::min(longest, units * layout.unit() + spare_window);
}

/// Enough IDs for one write, but no more than are made in about 50 ms: output is not held back for long.
std::size_t batch_size(std::int64_t count, const leaf::Layout& layout) {
  constexpr std::int64_t most = 8192;
  const std::int64_t in_unit = std::min(layout.max_sequence() + 1, most);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(in_unit * 50 / layout.unit().count(), 1, std::min(most, count)));
}

void warn_if_nearly_over(const leaf::Layout& layout, Messages& messages) {
  const auto left = layout.last_time() - current_time();
  if (left > std::chrono::days(365) || left < milliseconds::zero()) return;
  messages.warning(fmt::format("layout '{}' ends in {}, at {}", layout.name(), rough_duration(left),
                               leaf::detail::format_rfc3339(layout.last_time())),
                   "move to a store with another layout before then"_hint);
}

/// Failures that a background thread notes and the printing one reports.
class RenewalFailures {
 public:
  void note(const leaf::Error& error) {
    const std::lock_guard lock(mutex_);
    last_ = error;
  }

  void report(Messages& messages) {
    const std::lock_guard lock(mutex_);
    if (last_) messages.warning(fmt::format("no further window yet: {}", last_->what()), hint_text(*last_));
    last_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<leaf::Error> last_;
};

}  // namespace

void print_snowflake_ids(std::int64_t count, std::optional<leaf::IdTemplate> form, AtEnd at_end,
                         Session& session) {
  auto host = at_end == AtEnd::keep ? session.host() : std::nullopt;
  MissingMarks marks(session);
  if (!host) {
    marks.look();
    marks.report();
  }
  // A long output leases in the background; after a short one a detached process does.
  if (host) host->fetch_ahead = count > long_output;
  leaf::WorkerRequest request = worker_request(session.settings());
  std::optional<WaitingNotice> notice(std::in_place, session.messages, session.settings().timeout);
  if (!host) {
    leaf::Store store = session.store();
    request.window = window_for(count, store.layout(), request.window);
    remember_store(session, store, store.identity());
  }
  RenewalFailures failures;
  // A wait for the lease may be cut short; what comes after gives the worker back first.
  std::optional<InterruptGuard> guard;
  InterruptibleClock clock;
  leaf::StoreOptions store_options = marks.store_options();
  store_options.clock = &clock;
  leaf::SnowflakeGenerator generator(
      store_options, {.worker = request,
                      .max_backward = session.settings().max_backward,
                      .timeout = session.settings().timeout,
                      .on_renewal_failure = [&failures](const leaf::Error& error) { failures.note(error); },
                      .host = host,
                      .release_at_end = at_end == AtEnd::release});
  notice.reset();
  marks.report();
  guard.emplace();
  const leaf::Layout& layout = generator.layout();
  warn_if_nearly_over(layout, session.messages);
  session.messages.detail(fmt::format("worker {}, layout {}", generator.worker(), layout.name()));

  IdLines lines(session.output, layout, std::move(form));
  std::vector<std::int64_t> ids(batch_size(count, layout));
  OneStore store;
  while (count > 0) {
    const auto batch = std::span(ids).first(std::min(ids.size(), static_cast<std::size_t>(count)));
    InterruptibleClock::run([&] { generator.next(batch); });
    store.require(generator.store(), static_cast<std::int64_t>(batch.size()));
    lines.write(batch);
    failures.report(session.messages);
    marks.report();
    count -= static_cast<std::int64_t>(batch.size());
  }
  // What is not to be left behind is not left by a signal at the end either.
  if (at_end == AtEnd::keep) guard.reset();
  if (!host || host->fetch_ahead || !generator.claim_fetch()) return;
  marks.look();
  marks.report();
  run_in_detached_process([&generator] { generator.fetch(); });
}

}  // namespace leafctl
