#include "tag_selection.hpp"

#include <fmt/format.h>

#include "declaration.hpp"
#include "name_pattern.hpp"

namespace leafctl {

void TagSelection::declare(Declaration& command) {
  command.add_text_option(
      "PATTERN", "TAG", pattern_,
      "only tags whose names match, such as 'order*'; * ? [ ] as for files (default: all)");
}

std::vector<leaf::Tag> TagSelection::tags(leaf::Store& store, Messages& messages) const {
  std::vector<leaf::Tag> tags = store.tags();
  const bool has_tags = !tags.empty();
  std::erase_if(tags, [this](const leaf::Tag& tag) { return !matches(pattern_, tag.name); });
  if (!has_tags) {
    messages.info("no tags yet: add one with 'leafctl add-tag TAG'");
  } else if (tags.empty()) {
    messages.info(fmt::format("no tag matches '{}'", *pattern_));
  }
  return tags;
}

}  // namespace leafctl
