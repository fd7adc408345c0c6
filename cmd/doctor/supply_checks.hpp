#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "doctor/check.hpp"
#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"
#include "leaf/worker.hpp"
#include "settings/settings.hpp"
#include "tags/tag_supply.hpp"

namespace leafctl {

/// Judges how many IDs the tags have left, and until when those last at the paces that are known.
Checks tag_checks(const std::vector<leaf::Tag>& tags, const std::vector<TagOnHost>& on_host);

/// Judges until when the layout's timestamps last, and whether it is `expected`, if that is given.
Check layout_check(const leaf::Layout& layout, const std::optional<leaf::Layout>& expected,
                   leaf::UnixTime now);

/// What workers are judged by.
struct WorkerPolicy {
  std::string owner;                     ///< the name of this host's own
  std::optional<std::int64_t> pinned{};  ///< the one that it takes instead of any
  std::chrono::milliseconds recycle_after{};
  std::chrono::milliseconds max_skew{};
  std::chrono::milliseconds max_backward{};
  bool uses_host_buffer = true;  ///< else what draws keeps its windows in its own memory
};

WorkerPolicy worker_policy(const Settings& settings);

/// How many workers there are, and may be had.
struct WorkerSupply {
  std::int64_t total = 0;
  std::int64_t free = 0;
};

/// Of the workers in `range`.
WorkerSupply supply_of(const std::vector<leaf::Worker>& workers, const leaf::WorkerRange& range,
                       leaf::UnixTime now, const WorkerPolicy& policy);

/// Judges how many workers in `range` are free, which are silent or were leased while a clock was ahead, and
/// whether the clock `now` that grants them is behind what this host was granted.
Checks worker_checks(const std::vector<leaf::Worker>& workers, const leaf::Layout& layout,
                     const leaf::WorkerRange& range, leaf::UnixTime now, const WorkerPolicy& policy);

/// Judges whether this host's clock `now` is behind what is buffered for its workers of `store`: those of
/// another store have nothing to do with it, and what helps there would do harm here.
Checks window_checks(const std::vector<leaf::HostBuffer>& buffers, const leaf::StoreIdentity& store,
                     leaf::UnixTime now, const WorkerPolicy& policy);

}  // namespace leafctl
