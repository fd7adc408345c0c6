#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/store.hpp"
#include "leaf/tag.hpp"

namespace leaf {

/// A tag as another store or a file has it. What is absent is not said.
struct ImportedTag {
  TagName name;
  std::int64_t next_id;  ///< 0 to past_max_id
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> limit{};
  std::optional<std::string> description{};
  /// Where that was found, such as FILE:LINE; begins the texts of errors about it. May be empty.
  std::string place{};
};

/// What an import does about one tag. A counter is never lowered, and what is not said stays.
class LEAF_EXPORT TagImport {
 public:
  enum class Action { add, raise, change, nothing };

  /// `existing` is the tag in the store, if there is one; `end_of_removed` where one of that name ended that
  /// was removed. Throws Error (usage), with the tag's place, if next ID and limit do not fit.
  TagImport(const ImportedTag& tag, const std::optional<Tag>& existing,
            std::optional<std::int64_t> end_of_removed = {});

  Action action() const noexcept { return action_; }
  /// The tag as it will be; after carry_out() as it is.
  const Tag& tag() const noexcept { return tag_; }
  /// The imported next ID where the store is further.
  std::optional<std::int64_t> passed() const;

  /// Throws Error as Store::require_above_granted() if the tag is to be added.
  void require_above_granted(Store& store) const;
  /// Throws Error as Store::add_tag() and update_tag() do. Done again it changes nothing. IDs of a tag that
  /// was raised may still be buffered on hosts: see drop_host_buffer().
  void carry_out(Store& store);

 private:
  NewTag new_tag() const;
  void plan_addition(std::optional<std::int64_t> end_of_removed);
  void plan_change(const Tag& existing);

  ImportedTag imported_;
  Action action_ = Action::add;
  TagChange change_;
  Tag tag_;
};

/// What is done in `store` about each of `tags`, in their order. Changes nothing. Throws as TagImport's
/// constructor and Store::tags() do.
LEAF_EXPORT std::vector<TagImport> plan_import(const std::vector<ImportedTag>& tags, Store& store);

/// Of tags in `plan` that the store lost: why each would give IDs again that are known to be granted (see
/// StoreOptions::marks). Where there is one, nothing is to be carried out. Throws what else
/// Store::require_above_granted() throws.
LEAF_EXPORT std::vector<Error> lost_tags(const std::vector<TagImport>& plan, Store& store);

}  // namespace leaf
