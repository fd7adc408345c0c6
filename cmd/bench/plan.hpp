#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cli/declaration.hpp"

namespace leafctl {

/// How a benchmark is run.
struct BenchPlan {
  std::int64_t processes = 1;
  std::int64_t threads = 1;  ///< in each process
  std::int64_t batch = 1;    ///< how many items one call draws
  std::chrono::milliseconds duration = std::chrono::seconds(2);
  std::optional<std::int64_t> count{};  ///< how many items in all, however long it takes
  bool verify = false;
  bool host_buffer = false;  ///< all processes draw from one

  std::int64_t drawers() const noexcept { return processes * threads; }
  std::int64_t buffers() const noexcept { return host_buffer ? 1 : processes; }
  /// How many items the drawer of this number, from 0 on, is to draw.
  std::int64_t quota(std::int64_t drawer) const noexcept {
    if (!count) return std::numeric_limits<std::int64_t>::max();
    return *count / drawers() + (drawer < *count % drawers() ? 1 : 0);
  }
};

/// The options of a benchmark that make its plan.
class BenchPlanOptions {
 public:
  /// Which options there are beside those that every benchmark has.
  struct Extent {
    const char* item;  ///< what is drawn, for the help: "IDs"
    bool batch = false;
    bool verify = false;
    bool host_buffer = false;
  };

  /// Adds them to `command`; this has to live as long.
  void declare(Declaration& command, const Extent& extent);

  /// Throws leaf::Error (usage).
  BenchPlan plan() const;

 private:
  std::optional<std::int64_t> processes_;
  std::optional<std::int64_t> threads_;
  std::optional<std::int64_t> batch_;
  std::optional<std::int64_t> count_;
  std::optional<std::string> duration_;
  bool verify_ = false;
  bool host_buffer_ = false;
};

}  // namespace leafctl
