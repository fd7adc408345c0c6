#include "init_db/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workers/worker_range.hpp"

namespace leafctl {

namespace {

constexpr Column<InitOutcome> outcome_columns[] = {
    {"store", [](const InitOutcome& outcome) -> Cell { return outcome.store; }},
    {"deployment", [](const InitOutcome& outcome) -> Cell { return outcome.deployment; }},
    {"layout", [](const InitOutcome& outcome) -> Cell { return outcome.layout; }},
    {"workers", [](const InitOutcome& outcome) -> Cell { return format_worker_range(outcome.workers); }},
    {"schema_version", [](const InitOutcome& outcome) -> Cell { return outcome.schema_version; }},
    {"minimum_reader", [](const InitOutcome& outcome) -> Cell { return outcome.minimum_reader; }},
    {"applied", [](const InitOutcome& outcome) -> Cell { return outcome.applied; }},
    {"adopted", [](const InitOutcome& outcome) -> Cell { return outcome.adopted; }},
    {"runtime_role",
     [](const InitOutcome& outcome) -> Cell {
       return outcome.runtime_role ? Cell(*outcome.runtime_role) : Cell();
     }},
    {"guard_steps",
     [](const InitOutcome& outcome) -> Cell {
       return outcome.guard_steps ? Cell(*outcome.guard_steps) : Cell();
     }},
    {"functions", [](const InitOutcome& outcome) -> Cell { return outcome.functions; }},
};

}  // namespace

void report(const InitOutcome& outcome, bool created, Messages& messages) {
  const bool is_same = outcome.applied.empty() && !outcome.made_log && !outcome.turned_on &&
                       outcome.former_layout.empty() && !outcome.former_workers && !outcome.former_guard;
  messages.info(
      fmt::format("{} store '{}', deployment {}, layout {}{}",
                  created                   ? "created"
                  : is_same                 ? "up to date:"
                  : outcome.applied.empty() ? "changed"
                                            : "upgraded",
                  outcome.store, outcome.deployment, outcome.layout,
                  outcome.has_all_workers ? "" : ", workers " + format_worker_range(outcome.workers)));
  if (outcome.made_log) messages.info("recreated the log of changes");
  if (outcome.turned_on) messages.info("restored triggers, functions or keys that were off or missing");
  if (!outcome.applied.empty()) messages.info(fmt::format("applied {}", fmt::join(outcome.applied, ", ")));
  if (!outcome.applied.empty() && !created) {
    messages.info(fmt::format("programs that know schema version {} keep working, older ones are refused",
                              outcome.minimum_reader));
  }
  if (outcome.schema_version > outcome.known_version) {
    messages.info(fmt::format("its schema has version {}; this program knows {}, and works with it",
                              outcome.schema_version, outcome.known_version));
  }
  if (!outcome.former_layout.empty()) {
    messages.info(fmt::format("the layout was {}, and is {} now", outcome.former_layout, outcome.layout));
  }
  if (outcome.former_workers) {
    messages.info(fmt::format("workers {} were leased, and {} are now",
                              format_worker_range(*outcome.former_workers),
                              format_worker_range(outcome.workers)));
  }
  if (outcome.former_guard) {
    messages.info(fmt::format("tags left out {} steps after a failover, and leave out {} now",
                              *outcome.former_guard, *outcome.guard_steps));
  }
}

void print(const InitOutcome& outcome, Output& output) {
  output.print_one(outcome_columns, outcome);
}

}  // namespace leafctl
