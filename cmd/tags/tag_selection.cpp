#include "tags/tag_selection.hpp"

#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "leaf/detail/nearest.hpp"
#include "tags/tag_record.hpp"
#include "text/name_pattern.hpp"

namespace leafctl {

void TagSelection::declare(Declaration& command) {
  command.add_text_option(
      "PATTERN", "TAG", pattern_,
      "only tags whose names match, such as 'order*'; * ? [ ] as for files (default: all)");
}

std::vector<leaf::Tag> TagSelection::tags(leaf::Store& store, Messages& messages) const {
  return matching(store.tags(), messages);
}

std::vector<leaf::Tag> TagSelection::all_tags(leaf::Store& store, Messages& messages) const {
  return matching(store.all_tags(), messages);
}

bool TagSelection::matches(const std::string& tag) const {
  return leafctl::matches(pattern_, tag);
}

std::vector<leaf::Tag> TagSelection::matching(std::vector<leaf::Tag> tags, Messages& messages) const {
  const bool has_tags = !tags.empty();
  std::vector<std::string> names;
  for (const leaf::Tag& tag : tags) {
    if (is_tag_name(tag.name)) names.push_back(tag.name);
  }
  std::erase_if(tags, [this](const leaf::Tag& tag) { return !matches(tag.name); });
  if (!has_tags) {
    messages.info("no tags yet: add one with 'leafctl add-tag TAG'");
  } else if (tags.empty()) {
    const std::string near = is_tag_name(*pattern_) ? leaf::detail::nearest(*pattern_, names) : "";
    messages.info(fmt::format("no tag matches '{}'{}", *pattern_,
                              near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
  }
  return tags;
}

}  // namespace leafctl
