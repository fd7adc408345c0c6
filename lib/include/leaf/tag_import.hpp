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
  /// It was removed there: it is not added here, and never begins lower here either.
  bool is_removed = false;
};

/// What an import does about one tag. A counter is never lowered, and what was not given stays.
class LEAF_EXPORT TagImport {
 public:
  enum class Action {
    add,
    raise,
    change,
    nothing,
    note,  ///< a removed tag for which the store has no row, so that it cannot begin lower if it is added
  };

  /// `existing` is the tag in the store, if there is one; `end_of_removed` is where a removed one of that
  /// name ended. Throws Error (usage), with the tag's place, if next ID and limit do not fit.
  TagImport(const ImportedTag& tag, const std::optional<Tag>& existing,
            std::optional<std::int64_t> end_of_removed = {});

  Action action() const noexcept { return action_; }
  /// The tag as it will be, or is after import_tags(). One that is removed where it comes from stays if it
  /// exists here, and is raised.
  const Tag& tag() const noexcept { return tag_; }
  /// The imported next ID, if the store is past it.
  std::optional<std::int64_t> passed() const;

  /// What was imported.
  const ImportedTag& imported() const noexcept { return imported_; }

 private:
  friend class Import;

  void plan_addition(std::optional<std::int64_t> end_of_removed);
  void plan_change(const Tag& existing);
  void plan_raise(const Tag& existing);
  void plan_tombstone(std::optional<std::int64_t> end_of_removed);

  ImportedTag imported_;
  Action action_ = Action::add;
  bool is_done_ = false;  ///< by an attempt whose outcome was not known
  TagChange change_;
  Tag tag_;
};

/// What an import does about each tag, in order.
struct ImportPlan {
  std::vector<TagImport> tags{};
  /// One for each tag that the store has lost: it would give IDs that are known to be granted (see
  /// StoreOptions::marks). If there is one, nothing is imported.
  std::vector<Error> lost{};
};

/// What an import into `store` would do. Changes nothing. Throws as TagImport's constructor does.
LEAF_EXPORT ImportPlan plan_import(const std::vector<ImportedTag>& tags, Store& store);

/// Imports `tags` in one transaction: all of them, or none if it throws or finds lost ones. What others
/// change meanwhile takes effect entirely before or entirely after it. It counts as one call of the store
/// (see StoreOptions::timeout). Repeating it changes nothing. IDs below those of `tags` may still be
/// buffered on hosts: see drop_host_buffer(). Throws as plan_import(), Store::add_tag() and update_tag() do.
LEAF_EXPORT ImportPlan import_tags(const std::vector<ImportedTag>& tags, Store& store);

}  // namespace leaf
