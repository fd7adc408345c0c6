#pragma once

#include <optional>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "tags/filed_tag.hpp"

namespace leafctl {

/// What is done about one tag of a file. A counter is never lowered, and what the file does not say stays.
class TagImport {
 public:
  enum class Action { add, raise, change, nothing };

  /// `existing` is the tag in the store, if there is one; `end_of_removed` where one of that name ended that
  /// was removed. Throws leaf::Error (usage), with the tag's place, if next ID and limit do not fit.
  TagImport(const FiledTag& filed, const std::optional<leaf::Tag>& existing,
            std::optional<std::int64_t> end_of_removed = {});

  Action action() const noexcept { return action_; }
  /// The tag as it will be; after carry_out() as it is.
  const leaf::Tag& tag() const noexcept { return tag_; }
  /// The file's next ID where the store is further.
  std::optional<std::int64_t> passed() const;

  /// Throws leaf::Error as Store::require_above_granted() if the tag is to be added.
  void require_above_granted(leaf::Store& store) const;
  /// Throws leaf::Error as Store::add_tag() and update_tag() do. Done again it changes nothing.
  void carry_out(leaf::Store& store);

 private:
  leaf::NewTag new_tag() const;
  void plan_addition(std::optional<std::int64_t> end_of_removed);
  void plan_change(const leaf::Tag& existing);

  FiledTag filed_;
  Action action_ = Action::add;
  leaf::TagChange change_;
  leaf::Tag tag_;
};

/// What is done in `store` about each of `tags`, in their order. Changes nothing. Throws as TagImport's
/// constructor does.
std::vector<TagImport> plan_import(const std::vector<FiledTag>& tags, leaf::Store& store);

}  // namespace leafctl
