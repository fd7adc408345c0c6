#include "tags/tag_supply.hpp"

#include <algorithm>

namespace leafctl {

std::vector<TagOnHost> tags_on_host(const std::vector<leaf::HostBuffer>& buffers,
                                    const std::string& deployment) {
  std::vector<TagOnHost> result;
  for (const leaf::HostBuffer& buffer : buffers) {
    if (buffer.kind == leaf::HostBuffer::Kind::tag && buffer.deployment == deployment && buffer.in_use) {
      result.push_back({.tag = buffer.name,
                        .ids_per_second = buffer.ids_per_second.value_or(0),
                        .buffered = static_cast<std::int64_t>(buffer.current.size() + buffer.next.size())});
    }
  }
  return result;
}

TagSupply supply_of(const leaf::Tag& tag, const std::vector<TagOnHost>& on_host) {
  const auto found = std::ranges::find(on_host, tag.name, &TagOnHost::tag);
  const TagOnHost here = found == on_host.end() ? TagOnHost{} : *found;
  const std::int64_t in_store = tag.next_id > limit_of(tag) ? 0 : limit_of(tag) - tag.next_id + 1;
  // Of a store that has gone back both may count the same IDs.
  TagSupply supply{.left = std::min(in_store, leaf::max_id - here.buffered) + here.buffered};
  if (here.ids_per_second > 0) supply.seconds = static_cast<double>(supply.left) / here.ids_per_second;
  return supply;
}

}  // namespace leafctl
