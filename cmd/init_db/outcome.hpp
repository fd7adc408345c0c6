#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "terminal/messages.hpp"
#include "terminal/output.hpp"

namespace leafctl {

/// What init-db found and did.
struct InitOutcome {
  std::string store;
  std::string deployment;
  std::string layout;
  std::vector<std::string> applied;  ///< names of migrations
  bool made_log = false;
  bool turned_on = false;            ///< triggers that were off
  std::vector<std::string> adopted;  ///< the SQL
  std::string former_layout;         ///< where it was changed, but for a new store
  leaf::WorkerRange workers;
  bool has_all_workers = true;
  std::optional<leaf::WorkerRange> former_workers;  ///< where they were changed, but for a new store
  std::optional<std::string> runtime_role;
  std::optional<std::int64_t> guard_steps;
  std::vector<std::string> functions;        ///< the schemas where they were made
  std::optional<std::int64_t> former_guard;  ///< where it was changed
  std::int64_t schema_version = 0;
  std::int64_t minimum_reader = 0;
  std::int64_t known_version = 0;  ///< of this program
};

/// Tells a reader. `created`: the store is new.
void report(const InitOutcome& outcome, bool created, Messages& messages);

/// Prints it as one record.
void print(const InitOutcome& outcome, Output& output);

}  // namespace leafctl
