#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/host.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// What this host knows of a tag.
struct TagOnHost {
  std::string tag;
  double ids_per_second = 0;  ///< how fast it draws IDs; 0 if that is not known
  std::int64_t buffered = 0;  ///< the IDs that it was granted and has not used
};

/// Of the tags of `store` that this host has drawn from. A pace counts once it is of a minute at least: what
/// a script draws in a moment says nothing about how long a tag lasts.
std::vector<TagOnHost> tags_on_host(const std::vector<leaf::HostBuffer>& buffers,
                                    const leaf::StoreIdentity& store);

/// How far a tag reaches.
struct TagOutlook {
  leaf::TagSupply ids;              ///< with those that are buffered here
  std::optional<double> seconds{};  ///< for so long at this host's pace, if that is known
};

TagOutlook outlook_of(const leaf::Tag& tag, const std::vector<TagOnHost>& on_host);

}  // namespace leafctl
