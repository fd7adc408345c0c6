#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "audit/audit.hpp"
#include "audit/finding.hpp"
#include "leaf/layout.hpp"

namespace leafctl {

/// What an audit is reported with.
struct ReportOptions {
  leaf::UnixTime now;
  std::optional<leaf::UnixTime> since{};  ///< when the least of dense IDs was made
  std::uint64_t bad = 0;                  ///< lines that hold no ID
  std::size_t examples = 10;              ///< of workers
};

/// All that `audit`, which is finished, has found out.
Findings report(const Audit& audit, const ReportOptions& options);

}  // namespace leafctl
