#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "leaf/detail/yaml.hpp"

namespace leaf::detail {

namespace {

/// Aliases make a tree of any size of a short text, or one without an end.
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Turns what yaml-cpp has parsed into values without it.
class Conversion {
 public:
  explicit Conversion(std::size_t text_size) : left_(text_size * 2 + more_by_aliases) {}

  YamlNode operator()(const YAML::Node& from, int depth = 0) {
    if (left_-- == 0 || depth > greatest_depth)
      throw TooLarge("its aliases make too much of it, or it is too deep");
    YamlNode node;
    if (const YAML::Mark mark = from.Mark(); !mark.is_null()) {
      node.line = mark.line + 1;
      node.column = mark.column + 1;
    }
    switch (from.Type()) {
      case YAML::NodeType::Scalar:
        node.kind = YamlNode::Kind::scalar;
        node.text = from.Scalar();
        break;
      case YAML::NodeType::Sequence:
        node.kind = YamlNode::Kind::sequence;
        for (const YAML::Node& part : from) node.parts.push_back((*this)(part, depth + 1));
        break;
      case YAML::NodeType::Map:
        node.kind = YamlNode::Kind::mapping;
        for (const auto& pair : from) {
          node.parts.push_back((*this)(pair.first, depth + 1));
          node.parts.push_back((*this)(pair.second, depth + 1));
        }
        break;
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return node;
  }

 private:
  static constexpr std::size_t more_by_aliases = 65'536;
  static constexpr int greatest_depth = 256;

  std::size_t left_;
};

}  // namespace

YamlText parse_yaml(const std::string& text) {
  YamlText result;
  try {
    Conversion convert(text.size());
    for (const YAML::Node& document : YAML::LoadAll(text)) result.documents.push_back(convert(document));
  } catch (const YAML::Exception& error) {
    result.fault = error.msg;
    if (!error.mark.is_null()) {
      result.line = error.mark.line + 1;
      result.column = error.mark.column + 1;
    }
  } catch (const TooLarge& error) {
    result.fault = error.what();
  }
  return result;
}

}  // namespace leaf::detail
