#pragma once

#include <optional>

#include "bench/plan.hpp"
#include "cli/command.hpp"
#include "leaf/host.hpp"

namespace leafctl {

/// Where all processes of a benchmark share one buffer, if its plan says so: a folder of its own, so that
/// nothing of what this host uses is measured or changed.
class BenchHost {
 public:
  /// Throws leaf::Error (usage) if there is no place for this host's buffers.
  BenchHost(const Session& session, const BenchPlan& plan);

  /// None: each process has a buffer of its own.
  const std::optional<leaf::HostOptions>& options() const noexcept { return options_; }
  /// Removes the folder, when all processes have ended.
  void clean_up() noexcept;

 private:
  std::optional<leaf::HostOptions> options_;
};

}  // namespace leafctl
