#pragma once

#include <optional>
#include <vector>

#include "check.hpp"
#include "leaf/host.hpp"

namespace leafctl {

/// What is buffered on this host, and what is to be said of the place where it lies.
struct HostFindings {
  std::vector<leaf::HostBuffer> buffers;
  Check folder;
};

/// Looks at the folder of `host`, if there is one. Makes nothing.
HostFindings look_at_host(const std::optional<leaf::HostOptions>& host, bool is_wanted);

/// Judges the buffers whose last fetches failed.
Checks buffer_checks(const std::vector<leaf::HostBuffer>& buffers);

}  // namespace leafctl
