// Files of tags, in YAML and CSV: what is read is written and read again alike, and what is wrong has a
// place.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "leaf/detail/utf8.hpp"
#include "leaf/error.hpp"
#include "tags/tag_csv.hpp"
#include "tags/tag_format.hpp"
#include "tags/tag_yaml.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;
using leafctl::TagFile;
using leafctl::TagFormat;

void check_place(const leaf::Error& error, const std::string& text) {
  const std::string what = error.what();
  require(error.code() == leaf::ErrorCode::usage && what.starts_with("f:"), "what is wrong has a place",
          text);
  // YAML also ends lines with a carriage return.
  const auto lines = std::ranges::count_if(text, [](char c) { return c == '\n' || c == '\r'; });
  require(std::stoll(what.substr(2)) <= lines + 2, "the place is within the text", text + "\n" + what);
}

std::optional<TagFile> read(TagFormat format, const std::string& text) {
  try {
    TagFile file =
        format == TagFormat::yaml ? leafctl::read_tag_yaml({"f", text}) : leafctl::read_tag_csv({"f", text});
    for (const leaf::Error& error : file.errors) check_place(error, text);
    return file;
  } catch (const leaf::Error& error) {
    check_place(error, text);
    return std::nullopt;
  }
}

void check_round_trip(TagFormat format, const std::vector<leaf::Tag>& tags) {
  const std::string text =
      format == TagFormat::yaml ? leafctl::tags_as_yaml(tags) : leafctl::tags_as_csv(tags);
  require(leafctl::format_of({"", text}) == format || tags.empty(), "the format is told by the text", text);
  const auto file = read(format, text);
  require(file && file->errors.empty() && file->tags.size() == tags.size(), "tags that are written are read",
          text);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const leafctl::FiledTag& found = file->tags[i];
    require(found.name.str() == tags[i].name && found.next_id == tags[i].next_id &&
                found.step == tags[i].step && found.limit == tags[i].limit &&
                found.description.value_or("") == tags[i].description &&
                found.is_removed == tags[i].is_removed,
            "a tag is read as it was", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const TagFormat format = choices.flag() ? TagFormat::yaml : TagFormat::csv;
  const std::string text(choices.rest());
  const auto file = read(format, text);
  if (!file) return 0;
  std::vector<leaf::Tag> tags;
  for (const leafctl::FiledTag& tag : file->tags) {
    require(leaf::TagName::is_valid(tag.name.str()), "a name is one of a tag", text);
    require(tag.next_id >= 0 && tag.step.value_or(1) >= 1 &&
                (tag.is_removed || tag.limit.value_or(tag.next_id) >= tag.next_id - 1),
            "numbers are those of a tag", text);
    require(leaf::detail::is_utf8(tag.description.value_or("")), "a description is UTF-8", text);
    require(std::ranges::find(tags, tag.name.str(), &leaf::Tag::name) == tags.end(), "a tag is there once",
            text);
    tags.push_back({.name = tag.name.str(),
                    .next_id = tag.next_id,
                    .step = tag.step.value_or(1),
                    .limit = tag.limit,
                    .description = tag.description.value_or(""),
                    .updated_at = {},
                    .incarnation = "",
                    .is_removed = tag.is_removed});
  }
  check_round_trip(TagFormat::yaml, tags);
  check_round_trip(TagFormat::csv, tags);
  return 0;
}
