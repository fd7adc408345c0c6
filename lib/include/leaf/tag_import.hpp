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

/// A tag as another store or a file describes it. What is absent was not given.
struct ImportedTag {
  TagName name;
  std::int64_t next_id;  ///< 0 to past_max_id
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> limit{};
  std::optional<std::string> description{};
  /// Where it was found, such as FILE:LINE; errors about it begin with this. May be empty.
  std::string place{};
};

/// What an import does about one tag. A counter is never lowered, and what was not given stays.
class LEAF_EXPORT TagImport {
 public:
  enum class Action { add, raise, change, nothing };

  /// `existing` is the tag in the store, if there is one; `end_of_removed` is where a removed one of that
  /// name ended. Throws Error (usage), with the tag's place, if next ID and limit do not fit.
  TagImport(const ImportedTag& tag, const std::optional<Tag>& existing,
            std::optional<std::int64_t> end_of_removed = {});

  Action action() const noexcept { return action_; }
  /// The tag as it will be; after carry_out() as it is.
  const Tag& tag() const noexcept { return tag_; }
  /// The imported next ID, if the store is past it.
  std::optional<std::int64_t> passed() const;

  /// Throws Error as Store::require_above_granted() if the tag is to be added.
  void require_above_granted(Store& store) const;
  /// Throws Error as Store::add_tag() and update_tag() do. Done again, it changes nothing. IDs of a tag that
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

/// What an import into `store` does about each of `tags`, in order. Changes nothing. Throws as TagImport's
/// constructor and Store::tags() do.
LEAF_EXPORT std::vector<TagImport> plan_import(const std::vector<ImportedTag>& tags, Store& store);

/// One error for each tag in `plan` that the store has lost: it would give IDs that are known to be granted
/// (see StoreOptions::marks). If there is one, carry nothing out. Throws whatever else
/// Store::require_above_granted() throws.
LEAF_EXPORT std::vector<Error> lost_tags(const std::vector<TagImport>& plan, Store& store);

}  // namespace leaf
