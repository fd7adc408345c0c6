#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "leaf/detail/yaml.hpp"

namespace leaf::detail {

namespace {

/// Aliases make a tree of any size of a short text, or one without an end.
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Makes values of what yaml-cpp finds, one event after the other.
class Documents : public YAML::EventHandler {
 public:
  explicit Documents(std::size_t text_size) : left_(text_size * 2 + more_by_aliases) {}

  std::vector<YamlNode> take() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // A comma outside of brackets is a document for yaml-cpp, and stays before it: the next one is the same.
    if (last_start_ == mark.pos) throw YAML::ParserException(mark, "what stands here belongs to nothing");
    last_start_ = mark.pos;
    anchored_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(node_at(mark), anchor); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw too_large();  // it is a part of itself
    count(found->second, open_.size());
    YamlNode copy = found->second;
    add(std::move(copy), 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(mark);
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    add(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, YamlNode::Kind::sequence, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, YamlNode::Kind::mapping, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  static constexpr std::size_t more_by_aliases = 65'536;
  static constexpr std::size_t greatest_depth = 256;

  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
  };

  static TooLarge too_large() { return TooLarge("its aliases make too much of it, or it is too deep"); }

  static YamlNode node_at(const YAML::Mark& mark) {
    YamlNode node;
    if (!mark.is_null()) {
      node.line = mark.line + 1;
      node.column = mark.column + 1;
    }
    return node;
  }

  void begin(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (open_.size() >= greatest_depth) throw too_large();
    open_.push_back({node_at(mark), anchor});
    open_.back().node.kind = kind;
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    if (left_-- == 0) throw too_large();
    if (anchor != 0) {
      count(node, open_.size());
      anchored_[anchor] = node;
    }
    if (open_.empty()) {
      documents_.push_back(std::move(node));
    } else {
      open_.back().node.parts.push_back(std::move(node));
    }
  }

  /// Of what is copied.
  void count(const YamlNode& node, std::size_t depth) {
    if (depth > greatest_depth || left_-- == 0) throw too_large();
    for (const YamlNode& part : node.parts) count(part, depth + 1);
  }

  std::size_t left_;
  std::optional<int> last_start_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::vector<YamlNode> documents_;
};

}  // namespace

YamlText parse_yaml(const std::string& text) {
  YamlText result;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Documents documents(text.size());
    while (parser.HandleNextDocument(documents)) {
    }
    result.documents = documents.take();
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
