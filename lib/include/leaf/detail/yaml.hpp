#pragma once

#include <string>
#include <vector>

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// A value of a YAML document, with its place.
struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  int line = 0;  ///< from 1; 0 if that is not known
  int column = 0;
  std::string text{};             ///< of a scalar
  std::vector<YamlNode> parts{};  ///< of a sequence; of a mapping its keys and values in turn

  bool is_null() const noexcept { return kind == Kind::null; }
  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_sequence() const noexcept { return kind == Kind::sequence; }
  bool is_mapping() const noexcept { return kind == Kind::mapping; }
};

/// What parse_yaml() makes of a text: its documents, or what is wrong with it.
struct YamlText {
  std::vector<YamlNode> documents{};
  std::string fault{};  ///< empty: the text is YAML
  int line = 0;         ///< of the fault, or 0
  int column = 0;
};

using YamlParser = YamlText (*)(const std::string& text);

/// In a module of the library, and in a program that links it: yaml-cpp takes time to load.
YamlText parse_yaml(const std::string& text);

}  // namespace leaf::detail
