#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// Where something is in a file, counted from 1.
struct FilePlace {
  std::string file;
  std::size_t line = 1;
  std::size_t column = 1;

  /// FILE:LINE:COLUMN
  std::string text() const;
  /// An error (usage) that begins with the place.
  leaf::Error error(std::string_view what, const std::string& hint = {}) const;
};

/// A tag as a file has it. What is absent is not said.
struct FiledTag {
  leaf::TagName name;
  std::int64_t next_id;
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> limit{};
  std::optional<std::string> description{};
  bool is_removed = false;
  FilePlace place{};
};

/// What a file holds of tags, and what is wrong with it: all of that, so that it is mended at once.
struct TagFile {
  std::vector<FiledTag> tags;
  std::vector<leaf::Error> errors;
};

/// What a tag has in a file.
enum class TagKey { tag, next_id, step, limit, description, removed, ignored };

/// The key of that name: those of `leafctl tags list`, and the columns of Leaf's table. A time, or the number
/// of a row, is known and ignored.
std::optional<TagKey> find_tag_key(std::string_view name);

/// The names for an error's hint.
inline constexpr std::string_view tag_key_names =
    "tag (or biz_tag), next_id (or max_id), step, limit, description, removed, updated (or update_time)";

/// A value, the name of its key in the file, and its place.
struct FiledValue {
  std::string key;
  std::string text;
  FilePlace place;
};

/// The tag that `values` make, at `place`. Throws leaf::Error (usage) with the place of what is wrong.
FiledTag make_filed_tag(const std::map<TagKey, FiledValue>& values, const FilePlace& place);

/// Moves tags whose name another one before them has to the errors.
void refuse_repeated(TagFile& file);

}  // namespace leafctl
