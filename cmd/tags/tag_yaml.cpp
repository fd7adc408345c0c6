#include "tags/tag_yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/detail/yaml.hpp"
#include "text/hint.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

using leaf::detail::YamlNode;

FilePlace place_of(const InputFile& file, int line, int column) {
  if (line == 0) return {file.name};
  return {file.name, static_cast<std::size_t>(line), static_cast<std::size_t>(column)};
}

FilePlace place_of(const InputFile& file, const YamlNode& node) {
  return place_of(file, node.line, node.column);
}

YamlNode parse(const InputFile& file) {
  leaf::detail::YamlText yaml = leaf::detail::parse_yaml(file.text);
  if (!yaml.fault.empty())
    throw place_of(file, yaml.line, yaml.column).error(fmt::format("not valid YAML: {}", yaml.fault));
  if (yaml.documents.size() > 1) {
    throw place_of(file, yaml.documents[1])
        .error("a second document",
               "leave the line '---' and the second 'tags:' out, or import two files"_hint);
  }
  return yaml.documents.empty() ? YamlNode() : std::move(yaml.documents[0]);
}

/// The tags of the list; none where there is nothing.
std::vector<YamlNode> list_of_tags(const InputFile& file, YamlNode root) {
  if (root.is_null()) return {};
  const bool is_tag_file = root.is_mapping() && root.parts.size() == 2 && root.parts[0].is_scalar() &&
                           root.parts[0].text == "tags";
  if (!is_tag_file) {
    throw place_of(file, root)
        .error("expected the one key 'tags'", "write it as 'leafctl tags export' does"_hint);
  }
  YamlNode& list = root.parts[1];
  if (!list.is_sequence() && !list.is_null())
    throw place_of(file, list).error("'tags' takes a list", "each tag begins with '- tag: NAME'"_hint);
  return std::move(list.parts);
}

FiledTag tag_of(const InputFile& file, const YamlNode& node) {
  const FilePlace place = place_of(file, node);
  if (!node.is_mapping()) throw place.error("a tag has keys, such as 'tag: order'");
  std::map<TagKey, FiledValue> values;
  for (std::size_t i = 0; i < node.parts.size(); i += 2) {
    const YamlNode& text = node.parts[i + 1];
    const FilePlace at = place_of(file, node.parts[i]);
    const std::string& name = node.parts[i].text;
    const auto key = find_tag_key(name);
    if (!key)
      throw at.error(fmt::format("unknown key '{}'", name),
                     fmt::format("the keys are {}"_hint, tag_key_names));
    if (*key == TagKey::ignored || text.is_null()) continue;
    if (!text.is_scalar()) throw at.error(fmt::format("'{}' takes one value", name));
    const FiledValue value{name, text.text, place_of(file, text)};
    if (!values.emplace(*key, value).second) throw at.error(fmt::format("'{}' is given twice", name));
  }
  return make_filed_tag(values, place);
}

/// Whether a reader that knows no keys takes it for a number, a time or a truth value.
bool looks_like_no_text(std::string_view text) {
  constexpr std::string_view begins_of_numbers = "0123456789+-.";
  constexpr std::array words{"true", "false", "yes", "no", "on", "off", "y", "n"};
  const auto is_text = [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
  };
  return (!text.empty() && begins_of_numbers.find(text.front()) != text.npos) ||
         std::ranges::any_of(words, is_text);
}

/// Left to itself yaml-cpp writes a carriage return as it is, which a reader takes for the end of a line, and
/// what turns the direction of a text. Escaping in turn loses the code points that Unicode calls no
/// characters.
void emit(YAML::Emitter& yaml, const leaf::Tag& tag, const std::string& text) {
  if (escape_for_terminal(text) != text) {
    YAML::Emitter alone;
    alone << YAML::DoubleQuoted << YAML::EscapeNonAscii << text;
    if (YAML::Load(alone.c_str()).as<std::string>() != text) {
      throw leaf::Error(leaf::ErrorCode::failed,
                        fmt::format("tag '{}' has a character that YAML does not keep", tag.name),
                        "write them as CSV, with '--format csv'"_hint);
    }
    yaml << YAML::DoubleQuoted << YAML::EscapeNonAscii;
  } else if (looks_like_no_text(text)) {
    yaml << YAML::DoubleQuoted;
  }
  yaml << text;
}

}  // namespace

TagFile read_tag_yaml(const InputFile& file) {
  TagFile result;
  for (const YamlNode& node : list_of_tags(file, parse(file))) {
    try {
      result.tags.push_back(tag_of(file, node));
    } catch (const leaf::Error& error) {
      result.errors.push_back(error);
    }
  }
  refuse_repeated(result);
  return result;
}

std::string tags_as_yaml(const std::vector<leaf::Tag>& tags) {
  if (tags.empty()) return "tags: []\n";
  YAML::Emitter yaml;
  yaml << YAML::BeginMap << YAML::Key << "tags" << YAML::Value << YAML::BeginSeq;
  for (const leaf::Tag& tag : tags) {
    yaml << YAML::BeginMap;
    yaml << YAML::Key << "tag" << YAML::Value;
    emit(yaml, tag, tag.name);
    yaml << YAML::Key << "next_id" << YAML::Value << tag.next_id;
    yaml << YAML::Key << "step" << YAML::Value << tag.step;
    if (tag.limit) yaml << YAML::Key << "limit" << YAML::Value << *tag.limit;
    yaml << YAML::Key << "updated" << YAML::Value << leaf::detail::format_rfc3339(tag.updated_at);
    if (!tag.description.empty()) {
      yaml << YAML::Key << "description" << YAML::Value;
      emit(yaml, tag, tag.description);
    }
    if (tag.is_removed) yaml << YAML::Key << "removed" << YAML::Value << true;
    yaml << YAML::EndMap;
  }
  yaml << YAML::EndSeq << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

}  // namespace leafctl
