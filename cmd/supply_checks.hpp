#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/tag.hpp"
#include "leaf/worker.hpp"

namespace leafctl {

/// What this host knows of a tag.
struct TagOnHost {
  std::string tag;
  double ids_per_second = 0;  ///< how fast it draws IDs; 0 if that is not known
  std::int64_t buffered = 0;  ///< the IDs that it was granted and has not used
};

/// Judges how many IDs the tags have left, and until when those last at the paces that are known.
Checks tag_checks(const std::vector<leaf::Tag>& tags, const std::vector<TagOnHost>& on_host);

/// Judges until when the layout's timestamps last, and whether it is `expected`, if that is given.
Check layout_check(const leaf::Layout& layout, const std::optional<leaf::Layout>& expected,
                   leaf::UnixTime now);

/// What workers are judged by.
struct WorkerPolicy {
  std::string owner;  ///< the name of this host's own
  std::chrono::milliseconds recycle_after{};
  std::chrono::milliseconds max_skew{};
  std::chrono::milliseconds max_backward{};
};

/// Judges how many workers are free, which are silent or were leased while a clock was ahead, and whether the
/// clock `now` that grants them is behind what this host was granted.
Checks worker_checks(const std::vector<leaf::Worker>& workers, const leaf::Layout& layout, leaf::UnixTime now,
                     const WorkerPolicy& policy);

/// Judges whether this host's clock `now` is behind what is buffered for its workers.
Checks window_checks(const std::vector<leaf::HostBuffer>& buffers, leaf::UnixTime now,
                     const WorkerPolicy& policy);

}  // namespace leafctl
