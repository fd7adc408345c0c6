#include "tags/filed_tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "leaf/detail/utf8.hpp"
#include "terminal/remedy_text.hpp"
#include "text/numbers.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

/// Calls `read`; what it throws gets the place of `value`.
template <class Read>
auto at_place(const FiledValue& value, Read read) {
  try {
    return read();
  } catch (const leaf::Error& error) {
    throw value.place.error(error.what(), hint_text(error));
  }
}

std::int64_t integer(const FiledValue& value, IntegerBounds bounds) {
  return at_place(value, [&] { return parse_integer(value.key, value.text, bounds); });
}

bool is_true(const FiledValue& value) {
  if (value.text == "true") return true;
  if (value.text == "false") return false;
  throw value.place.error(
      fmt::format("'{}' takes true or false, not '{}'", value.key, escape_for_terminal(value.text)));
}

void check_description(const FiledValue& value) {
  if (!leaf::detail::is_utf8(value.text))
    throw value.place.error(fmt::format("'{}' is not in UTF-8", value.key));
  if (value.text.find('\0') != std::string::npos) {
    throw value.place.error(fmt::format("'{}' holds a zero byte", value.key));
  }
  if (const std::size_t size = count_characters(value.text); size > leaf::max_description) {
    throw value.place.error(
        fmt::format("'{}' has {} characters, more than {}", value.key, size, leaf::max_description));
  }
}

const FiledValue& required(const std::map<TagKey, FiledValue>& values, TagKey key, std::string_view name,
                           const FilePlace& place) {
  const auto found = values.find(key);
  if (found == values.end()) throw place.error(fmt::format("a tag has no '{}'", name));
  return found->second;
}

}  // namespace

std::string FilePlace::text() const {
  return fmt::format("{}:{}:{}", file, line, column);
}

leaf::Error FilePlace::error(std::string_view what, const std::string& hint) const {
  return {leaf::ErrorCode::usage, fmt::format("{}: {}", text(), what), hint};
}

std::optional<TagKey> find_tag_key(std::string_view name) {
  static constexpr std::pair<std::string_view, TagKey> keys[] = {
      {"tag", TagKey::tag},
      {"biz_tag", TagKey::tag},
      {"next_id", TagKey::next_id},
      {"max_id", TagKey::next_id},
      {"step", TagKey::step},
      {"limit", TagKey::limit},
      {"id", TagKey::ignored},
      {"description", TagKey::description},
      {"removed", TagKey::removed},
      {"updated", TagKey::ignored},
      {"update_time", TagKey::ignored},
  };
  for (const auto& [known, key] : keys) {
    if (known == name) return key;
  }
  return std::nullopt;
}

FiledTag make_filed_tag(const std::map<TagKey, FiledValue>& values, const FilePlace& place) {
  const FiledValue& name = required(values, TagKey::tag, "tag", place);
  const FiledValue& next_id = required(values, TagKey::next_id, "next_id", place);
  FiledTag tag{.name = at_place(name, [&] { return leaf::TagName(name.text); }),
               .next_id = integer(next_id, {0, leaf::past_max_id}),
               .place = name.place};
  if (const auto removed = values.find(TagKey::removed); removed != values.end())
    tag.is_removed = is_true(removed->second);
  if (const auto step = values.find(TagKey::step); step != values.end()) {
    tag.step = integer(step->second, {1, leaf::max_step});
  }
  if (const auto limit = values.find(TagKey::limit); limit != values.end()) {
    const std::int64_t lowest = tag.is_removed ? 0 : std::max<std::int64_t>(tag.next_id - 1, 0);
    tag.limit = integer(limit->second, {lowest, leaf::max_id});
  }
  if (const auto description = values.find(TagKey::description); description != values.end()) {
    check_description(description->second);
    tag.description = description->second.text;
  }
  return tag;
}

void refuse_repeated(TagFile& file) {
  std::map<std::string, FilePlace> places;
  std::vector<FiledTag> tags;
  for (FiledTag& tag : file.tags) {
    const auto [first, is_new] = places.emplace(tag.name.str(), tag.place);
    if (is_new) {
      tags.push_back(std::move(tag));
    } else {
      file.errors.push_back(
          tag.place.error(fmt::format("tag '{}' is already in line {}", tag.name.str(), first->second.line)));
    }
  }
  file.tags = std::move(tags);
}

}  // namespace leafctl
