#pragma once

#include <string>
#include <vector>

#include "tags/filed_tag.hpp"
#include "terminal/input_file.hpp"

namespace leafctl {

/// Reads tags as tags_as_yaml() writes them: a mapping with the one key `tags`, a list of mappings. Throws
/// leaf::Error (usage) for what is no such file.
TagFile read_tag_yaml(const InputFile& file);

/// Throws leaf::Error (failed) for a text that would not be read as it was.
std::string tags_as_yaml(const std::vector<leaf::Tag>& tags);

}  // namespace leafctl
