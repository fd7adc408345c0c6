#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/host.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// What this host knows of a tag.
struct TagOnHost {
  std::string tag;
  double ids_per_second = 0;  ///< how fast it draws IDs; 0 if that is not known
  std::int64_t buffered = 0;  ///< the IDs that it was granted and has not used
};

/// Of the tags of one deployment that this host has drawn from.
std::vector<TagOnHost> tags_on_host(const std::vector<leaf::HostBuffer>& buffers,
                                    const std::string& deployment);

/// How far a tag reaches.
struct TagSupply {
  std::int64_t left = 0;            ///< IDs that can still be granted, or are buffered here
  std::optional<double> seconds{};  ///< for so long at this host's pace, if that is known
};

TagSupply supply_of(const leaf::Tag& tag, const std::vector<TagOnHost>& on_host);

/// The last ID that it may give.
inline std::int64_t limit_of(const leaf::Tag& tag) {
  return tag.limit.value_or(leaf::max_id);
}

}  // namespace leafctl
