#include <fmt/format.h>

#include <algorithm>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "text/name_pattern.hpp"

namespace leafctl {

namespace {

/// When a row was read, by the store's clock. A grant may lie ahead of it.
leaf::UnixTime now(const leaf::Worker& worker) {
  return worker.renewed_at + worker.silent_for;
}

std::string state(const leaf::Worker& worker) {
  if (!worker.in_range) return "outside";
  if (worker.leased_ahead()) return "ahead";
  if (worker.owner.empty()) return "free";
  if (!worker.leased) return "idle";
  return worker.window_end > now(worker) ? "held" : "lapsed";
}

constexpr Column<leaf::Worker> columns[] = {
    {"worker", [](const leaf::Worker& worker) -> Cell { return worker.id; }},
    {"owner",
     [](const leaf::Worker& worker) -> Cell { return worker.owner.empty() ? Cell() : worker.owner; }},
    {"state", [](const leaf::Worker& worker) -> Cell { return state(worker); }},
    {"window_end",
     [](const leaf::Worker& worker) -> Cell {
       return TimeFromNow{worker.window_end, now(worker)};
     }},
    {"silent_ms", [](const leaf::Worker& worker) -> Cell { return worker.silent_for; }},
    {"clock_offset_ms", [](const leaf::Worker& worker) -> Cell { return worker.clock_offset; }},
};

class WorkersList : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe("Lists the workers that were ever taken, by number.");
    command.add_text_option(
        "PATTERN", "", pattern_,
        "only those whose owners match, such as 'web-*'; * ? [ ] as for files (default: all)");
    command.add_text_option("--state", "held|lapsed|idle|free|ahead|outside", state_,
                            "only those that are held, lapsed, idle, free, ahead or outside");
    command.add_examples(
        "Prints worker, owner, state, window_end, silent_ms (since the last grant) and\n"
        "clock_offset_ms (the owner's clock minus the store's, at that grant). On a\n"
        "terminal times are relative to now; in a pipe they are exact, tab-separated.\n\n"
        "States:\n"
        "  held     leased, until window_end unless it is leased again\n"
        "  lapsed   its window is over and was not given back: its holder may be dead\n"
        "  idle     given back by its owner, who will take it again\n"
        "  free     available; the next owner's window starts after window_end\n"
        "  ahead    leased by a clock that was ahead: for nobody before window_end\n"
        "  outside  outside the range set by 'leafctl init-db --workers'\n\n"
        "Examples:\n"
        "  leafctl workers list\n"
        "  leafctl workers list 'web-*'\n"
        "  leafctl workers list --state lapsed -o json | jq -r .owner");
  }

  void run(Session& session) override {
    check_state();
    std::vector<leaf::Worker> workers = session.store().workers();
    const bool has_workers = !workers.empty();
    std::erase_if(workers, [this](const leaf::Worker& worker) {
      return !matches(pattern_, worker.owner) || (state_ && *state_ != state(worker));
    });
    session.output.print_list(columns, workers);
    if (!has_workers) {
      session.messages.info("no workers yet: 'leafctl next --snowflake' takes one");
    } else if (workers.empty()) {
      session.messages.info("no worker matches");
    }
  }

 private:
  void check_state() const {
    static constexpr std::string_view states[] = {"held", "lapsed", "idle", "free", "ahead", "outside"};
    if (!state_ || std::ranges::find(states, *state_) != std::end(states)) return;
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'--state' takes held, lapsed, idle, free, ahead or outside, not '{}'", *state_));
  }

  std::optional<std::string> pattern_;
  std::optional<std::string> state_;
};

}  // namespace

std::unique_ptr<Command> make_workers_list() {
  return std::make_unique<WorkersList>();
}

}  // namespace leafctl
