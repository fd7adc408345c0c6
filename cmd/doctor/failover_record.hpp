#pragma once

#include <optional>
#include <string>
#include <vector>

#include "leaf/failover.hpp"
#include "terminal/output.hpp"

namespace leafctl {

/// What a change of the database's server means for a tag, or for all workers.
struct FailoverRecord {
  std::string kind;  ///< "tag" or "workers"
  std::string name{};
  std::string state;
  std::string granted_by{};
  std::optional<leaf::Range> left_out{};
  std::optional<leaf::UnixTime> until{};
};

using FailoverRecords = std::vector<FailoverRecord>;

FailoverRecords records_of(const std::vector<leaf::FailoverTag>& tags);
/// Of the workers, whether they wait or not.
FailoverRecord record_of_workers(const leaf::Failover& found);

void print(const FailoverRecords& records, Output& output);

}  // namespace leafctl
