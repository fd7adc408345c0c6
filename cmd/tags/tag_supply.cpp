#include "tags/tag_supply.hpp"

#include <algorithm>
#include <chrono>

namespace leafctl {

std::vector<TagOnHost> tags_on_host(const std::vector<leaf::HostBuffer>& buffers,
                                    const leaf::StoreIdentity& store) {
  constexpr std::chrono::minutes shortest{1};
  std::vector<TagOnHost> result;
  for (const leaf::HostBuffer& buffer : buffers) {
    if (buffer.kind != leaf::HostBuffer::Kind::tag || !buffer.in_use || buffer.is_former) continue;
    if (!buffer.is_of(store)) continue;
    result.push_back({.tag = buffer.name,
                      .ids_per_second = buffer.pace_span >= shortest ? buffer.ids_per_second.value_or(0) : 0,
                      .buffered = static_cast<std::int64_t>(buffer.current.size() + buffer.next.size())});
  }
  return result;
}

TagOutlook outlook_of(const leaf::Tag& tag, const std::vector<TagOnHost>& on_host) {
  const auto found = std::ranges::find(on_host, tag.name, &TagOnHost::tag);
  const TagOnHost here = found == on_host.end() ? TagOnHost{} : *found;
  TagOutlook outlook{.ids = leaf::supply_of(tag, static_cast<std::uint64_t>(here.buffered))};
  if (here.ids_per_second > 0) outlook.seconds = static_cast<double>(outlook.ids.left) / here.ids_per_second;
  return outlook;
}

}  // namespace leafctl
