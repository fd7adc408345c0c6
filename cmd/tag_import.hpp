#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filed_tag.hpp"
#include "leaf/store.hpp"

namespace leafctl {

/// What is done about one tag of a file. A counter is never lowered, and what the file does not say stays.
class TagImport {
 public:
  enum class Action { add, raise, change, nothing };

  /// `existing` is the tag in the store, if there is one. Throws leaf::Error (usage), with the tag's place,
  /// if the file's next ID and the store's limit do not fit.
  TagImport(const FiledTag& filed, const std::optional<leaf::Tag>& existing);

  Action action() const noexcept { return action_; }
  /// The tag as it will be; after carry_out() as it is.
  const leaf::Tag& tag() const noexcept { return tag_; }
  /// The file's next ID where the store is further.
  std::optional<std::int64_t> passed() const;

  /// Throws leaf::Error as Store::add_tag() and update_tag() do. Done again it changes nothing.
  void carry_out(leaf::Store& store);

 private:
  void plan_change(const leaf::Tag& existing);

  FiledTag filed_;
  Action action_ = Action::add;
  leaf::TagChange change_;
  leaf::Tag tag_;
};

/// What is done about each of `tags`, in their order, where the store has `existing` ones. Throws as
/// TagImport's constructor does.
std::vector<TagImport> plan_import(const std::vector<FiledTag>& tags, const std::vector<leaf::Tag>& existing);

}  // namespace leafctl
