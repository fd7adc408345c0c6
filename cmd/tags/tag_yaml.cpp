#include "tags/tag_yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <chrono>
#include <vector>

#include "text/hint.hpp"
#include "text/rfc3339.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

FilePlace place_of(const InputFile& file, const YAML::Mark& mark) {
  if (mark.is_null()) return {file.name};
  return {file.name, static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

YAML::Node parse(const InputFile& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(file.text);
    if (documents.size() > 1) {
      throw place_of(file, documents[1].Mark())
          .error("a second document",
                 "leave the line '---' and the second 'tags:' out, or import two files"_hint);
    }
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::Exception& error) {
    throw place_of(file, error.mark).error(fmt::format("not valid YAML: {}", error.msg));
  }
}

/// The list of tags; null where there is nothing.
YAML::Node list_of_tags(const InputFile& file, const YAML::Node& root) {
  if (root.IsNull()) return root;
  const bool is_tag_file = root.IsMap() && root.size() == 1 && root.begin()->first.IsScalar() &&
                           root.begin()->first.Scalar() == "tags";
  if (!is_tag_file) {
    throw place_of(file, root.Mark())
        .error("expected the one key 'tags'", "write it as 'leafctl tags export' does"_hint);
  }
  const YAML::Node list = root.begin()->second;
  if (!list.IsSequence() && !list.IsNull()) {
    throw place_of(file, list.Mark()).error("'tags' takes a list", "each tag begins with '- tag: NAME'"_hint);
  }
  return list;
}

FiledTag tag_of(const InputFile& file, const YAML::Node& node) {
  const FilePlace place = place_of(file, node.Mark());
  if (!node.IsMap()) throw place.error("a tag has keys, such as 'tag: order'");
  std::map<TagKey, FiledValue> values;
  for (const auto& pair : node) {
    const FilePlace at = place_of(file, pair.first.Mark());
    const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
    const auto key = find_tag_key(name);
    if (!key)
      throw at.error(fmt::format("unknown key '{}'", name),
                     fmt::format("the keys are {}"_hint, tag_key_names));
    if (*key == TagKey::ignored || pair.second.IsNull()) continue;
    if (!pair.second.IsScalar()) throw at.error(fmt::format("'{}' takes one value", name));
    const FiledValue value{name, pair.second.Scalar(), place_of(file, pair.second.Mark())};
    if (!values.emplace(*key, value).second) throw at.error(fmt::format("'{}' is given twice", name));
  }
  return make_filed_tag(values, place);
}

/// Left to itself yaml-cpp writes a carriage return as it is, which a reader takes for the end of a line, and
/// what turns the direction of a text.
void emit(YAML::Emitter& yaml, const std::string& text) {
  if (escape_for_terminal(text) != text) yaml << YAML::DoubleQuoted << YAML::EscapeNonAscii;
  yaml << text;
}

}  // namespace

TagFile read_tag_yaml(const InputFile& file) {
  const YAML::Node root = parse(file);
  TagFile result;
  for (const YAML::Node& node : list_of_tags(file, root)) {
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
    emit(yaml, tag.name);
    yaml << YAML::Key << "next_id" << YAML::Value << tag.next_id;
    yaml << YAML::Key << "step" << YAML::Value << tag.step;
    if (tag.limit) yaml << YAML::Key << "limit" << YAML::Value << *tag.limit;
    yaml << YAML::Key << "updated" << YAML::Value << format_rfc3339(tag.updated_at);
    if (!tag.description.empty()) {
      yaml << YAML::Key << "description" << YAML::Value;
      emit(yaml, tag.description);
    }
    yaml << YAML::EndMap;
  }
  yaml << YAML::EndSeq << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

}  // namespace leafctl
