#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "terminal/confirmation.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"
#include "workers/freed_workers.hpp"

namespace leafctl {

namespace {

class WorkersRecycle : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Frees workers for others: those named, or all whose window is over and whose owner was silent for "
        "--recycle-after.");
    command.add_workers_argument(workers_, "the workers (default: all that are silent)");
    command.add_flag("--force", force_, "also those whose window is not over; asks on a terminal");
    command.add_flag("--yes", yes_, "do not ask; required with --force where there is no terminal");
    command.add_examples(
        "Recycling cannot make an ID repeat, not even with --force: whoever takes the\n"
        "worker gets only time after the last window that was leased with it, and a\n"
        "holder that is alive keeps to that window and then takes another worker.\n\n"
        "Exit status: 4 if nobody holds the worker, 5 if its window is not over and\n"
        "--force is missing. With several workers it is that of the first that failed;\n"
        "the others are still recycled.\n\n"
        "Examples:\n"
        "  leafctl workers recycle --recycle-after 24h\n"
        "  leafctl workers recycle 3 4 --force --yes");
  }

  std::vector<std::string_view> setting_keys() const override { return {"recycle_after"}; }

  void run(Session& session) override {
    if (workers_.empty()) {
      recycle_silent(session);
    } else {
      recycle_named(session);
    }
  }

 private:
  void recycle_silent(Session& session) const {
    if (force_) {
      throw leaf::Error(leaf::ErrorCode::usage, "'--force' needs the numbers of the workers",
                        "see 'leafctl workers list'"_hint);
    }
    const auto silence = session.settings().recycle_after;
    leaf::Store store = session.store();
    const auto recycled = store.recycle_silent_workers(silence);
    report_freed("recycled", recycled, session);
    if (recycled.empty()) {
      session.messages.info(
          fmt::format("nothing to recycle: no owner whose window is over was silent for {}{}",
                      format_duration(silence), ways_to_free(store)));
    }
  }

  /// What frees a worker now, as a clause for a message; empty where nobody holds one.
  static std::string ways_to_free(leaf::Store& store) {
    constexpr int most_named = 8;
    std::string lapsed;
    int named = 0;
    bool is_held = false;
    for (const leaf::Worker& worker : store.workers()) {
      is_held = is_held || worker.leased;
      const bool is_over = worker.leased && worker.window_end <= worker.renewed_at + worker.silent_for;
      if (is_over && ++named <= most_named) lapsed += fmt::format(" {}", worker.id);
    }
    if (named > 0) return fmt::format("; 'leafctl workers recycle{}' frees what is over already", lapsed);
    return is_held ? "; 'leafctl workers recycle WORKER --force' frees one sooner" : "";
  }

  void recycle_named(Session& session) const {
    leaf::Store store = session.store();
    if (force_ && !yes_) ask(store, session.messages);
    std::optional<leaf::Error> first;
    std::size_t failed = 0;
    for (const std::int64_t worker : workers_) {
      try {
        store.recycle_worker(worker, force_);
        report_freed("recycled", {worker}, session);
      } catch (const leaf::Error& error) {
        // Where one is all, or the store is away, there is nothing to go on with.
        if (workers_.size() == 1 || error.retryable()) throw;
        session.messages.error(error);
        if (++failed == 1) first = error;
      }
    }
    if (first) {
      throw leaf::Error(first->code(),
                        fmt::format("{} of {} workers were not recycled", failed, workers_.size()));
    }
  }

  void ask(leaf::Store& store, Messages& messages) const {
    require_terminal_to_ask("recycling workers that may be in use", messages);
    std::string list;
    for (const leaf::Worker& worker : store.workers()) {
      if (worker.owner.empty() || std::ranges::find(workers_, worker.id) == workers_.end()) continue;
      list += fmt::format("{}worker {} (held by '{}' until {})", list.empty() ? "" : ", ", worker.id,
                          worker.owner, leaf::detail::format_rfc3339(worker.window_end));
    }
    if (!list.empty()) require_yes(fmt::format("recycle {}?", list), "no worker was recycled", messages);
  }

  std::vector<std::int64_t> workers_;
  bool force_ = false;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_workers_recycle() {
  return std::make_unique<WorkersRecycle>();
}

}  // namespace leafctl
