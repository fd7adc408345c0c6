#pragma once

#include <string>
#include <vector>

#include "tags/filed_tag.hpp"
#include "terminal/input_file.hpp"

namespace leafctl {

/// Reads comma-separated or tab-separated tags: under a header that names the columns, or Leaf's own columns
/// in their order (biz_tag, max_id, step, description, update_time) without one. Where the header is not that
/// of tags_as_csv(), escapes and NULL are read as MySQL writes them. Throws leaf::Error (usage) for a file
/// that cannot be told into columns.
TagFile read_tag_csv(const InputFile& file);

/// `tags` with a header.
std::string tags_as_csv(const std::vector<leaf::Tag>& tags);

}  // namespace leafctl
