#include <fmt/format.h>

#include <algorithm>

#include "cli/declaration.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "tags/granted_marks.hpp"
#include "terminal/waiting_notice.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

/// The times for which IDs may be made.
struct Window {
  leaf::UnixTime begin;
  leaf::UnixTime end;
};

struct Lease {
  leaf::WorkerLease granted;
  Window window;
  std::string owner;
};

constexpr Column<Lease> columns[] = {
    {"worker", [](const Lease& lease) -> Cell { return lease.granted.worker; }},
    {"owner", [](const Lease& lease) -> Cell { return lease.owner; }},
    {"window_begin", [](const Lease& lease) -> Cell { return lease.window.begin; }},
    {"window_end", [](const Lease& lease) -> Cell { return lease.window.end; }},
    {"token", [](const Lease& lease) -> Cell { return lease.granted.token; }},
};

/// Whether the next command goes by another name unless it is told this one too.
bool is_named_by_flag(const Session& session) {
  return std::ranges::any_of(session.configuration.origins, [](const SettingOrigin& origin) {
    return origin.setting->key == std::string_view("worker_name") &&
           origin.origin == origin.setting->long_flag();
  });
}

/// The part of what was leased that no other holder has a share in, whatever unit an ID's time is counted in.
/// Empty if the layout ends before it.
Window whole_units(const leaf::WorkerLease& lease) {
  const leaf::Layout& layout = *lease.layout;
  const auto begin_of_unit = [&](leaf::UnixTime time) { return layout.time_at(layout.ticks_at(time)); };
  const leaf::UnixTime begin = begin_of_unit(lease.begin);
  const leaf::UnixTime end_of_layout = layout.last_time() + layout.unit();
  return {.begin = begin < lease.begin ? begin + layout.unit() : begin,
          .end = lease.end < end_of_layout ? begin_of_unit(lease.end) : end_of_layout};
}

void require_whole_unit(std::chrono::milliseconds window, const leaf::Layout& layout) {
  if (window >= layout.unit()) return;
  throw leaf::Error(
      leaf::ErrorCode::usage,
      fmt::format("a window of {} is shorter than the unit of layout '{}'", format_duration(window),
                  layout.name()),
      fmt::format("set it to {0} or longer with '--window {0}'"_hint, format_duration(layout.unit())));
}

class WorkersAcquire : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Leases a worker and a window of time, in which nobody else makes IDs with it: for a program with a "
        "generator of its own. Each call leases another worker, while the earlier ones are held. "
        "'leafctl next --snowflake' does all this by itself.");
    command.add_examples(
        "Prints worker, owner, window_begin, window_end and token. IDs may be made for\n"
        "times from window_begin to just before window_end. The worker is held when the\n"
        "command ends, until its window is over or it is released.\n\n"
        "Examples:\n"
        "  leafctl workers acquire --window 1h\n"
        "  leafctl workers acquire --worker-name billing-1 -o json");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {"layout", "worker_name", "worker_id", "window", "max_skew", "recycle_after", "group"};
  }

  void run(Session& session) override {
    MissingMarks marks(session);
    marks.look();
    marks.report();
    leaf::Store store = session.store();
    const std::string& owner = session.settings().worker_name;
    leaf::WorkerRequest request = worker_request(session.settings());
    const leaf::Layout layout = store.layout();
    require_whole_unit(request.window, layout);
    // Wherever it begins, it holds so many units as a whole.
    request.window = (request.window / layout.unit() + 1) * layout.unit() - std::chrono::milliseconds(1);
    const leaf::WorkerLease granted = [&] {
      const WaitingNotice notice(session.messages, session.settings().timeout);
      return store.await_worker(request);
    }();
    const Lease lease{granted, whole_units(granted), owner};
    const bool is_of_another = granted.layout->text() != layout.text();
    if (is_of_another || lease.window.begin >= lease.window.end) {
      store.release_worker(granted, granted.begin);
      if (is_of_another)
        throw leaf::Error(leaf::ErrorCode::unavailable, "the store has another layout now", "try again"_hint);
      layout.ticks_at(lease.window.end);  // throws
    }
    marks.look();
    marks.report();
    remember_store(session, store, granted.store);
    session.output.print_one(columns, lease);
    session.messages.info(fmt::format(
        "worker {} is held by '{}' until {}; 'leafctl workers release {}{}' frees it", lease.granted.worker,
        owner, leaf::detail::format_rfc3339(lease.granted.end), lease.granted.worker,
        is_named_by_flag(session) ? " --worker-name " + leaf::detail::shell_word(owner) : ""));
  }
};

}  // namespace

std::unique_ptr<Command> make_workers_acquire() {
  return std::make_unique<WorkersAcquire>();
}

}  // namespace leafctl
