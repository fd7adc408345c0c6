#include "commands.hpp"

namespace leafctl {

namespace {

/// When a row was read, by the store's clock.
leaf::UnixTime now(const leaf::Worker& worker) {
  return worker.renewed_at + worker.silent_for;
}

std::string state(const leaf::Worker& worker) {
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
  void setup(CLI::App& app) override {
    app.description("Lists all workers that were ever taken, by number.");
    app.footer(
        "Prints worker, owner, state, window_end, silent_ms (since the last grant) and\n"
        "clock_offset_ms (the owner's clock less the store's, at that grant). On a\n"
        "terminal times are told from now; in a pipe they are exact, tab-separated.\n\n"
        "States:\n"
        "  held     leased, until window_end unless it is leased again\n"
        "  lapsed   its window is over and was not given back: its holder may be dead\n"
        "  idle     given back by its owner, who will take it again\n"
        "  free     for anybody, who gets only time after window_end\n\n"
        "Examples:\n"
        "  leafctl workers list\n"
        "  leafctl workers list -o json | jq -r 'select(.state == \"lapsed\").owner'");
  }

  void run(Session& session) override {
    const std::vector<leaf::Worker> workers = session.store().workers();
    session.output.print_list(columns, workers);
    if (workers.empty()) session.messages.info("no workers yet: 'leafctl next --snowflake' takes one");
  }
};

}  // namespace

std::unique_ptr<Command> make_workers_list() {
  return std::make_unique<WorkersList>();
}

}  // namespace leafctl
