#include "leaf/tag_import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/hint.hpp"

namespace leaf {

namespace {

Error misfit(const std::string& place, const std::string& what, const std::string& hint) {
  return {ErrorCode::usage, place.empty() ? what : fmt::format("{}: {}", place, what), hint};
}

}  // namespace

TagImport::TagImport(const ImportedTag& tag, const std::optional<Tag>& existing,
                     std::optional<std::int64_t> end_of_removed)
    : imported_(tag) {
  if (existing) {
    plan_change(*existing);
  } else {
    plan_addition(end_of_removed);
  }
}

void TagImport::plan_addition(std::optional<std::int64_t> end_of_removed) {
  const std::int64_t next_id = std::max(imported_.next_id, end_of_removed.value_or(0));
  tag_ = {.name = imported_.name.str(),
          .next_id = next_id,
          .step = imported_.step.value_or(default_step),
          .start = next_id,
          .limit = imported_.limit,
          .description = imported_.description.value_or(""),
          .updated_at = {},
          .incarnation = {}};
  if (end_of_removed && imported_.limit && *imported_.limit < *end_of_removed - 1) {
    throw misfit(imported_.place,
                 fmt::format("tag '{}' was removed after it had given out IDs up to {}", tag_.name,
                             *end_of_removed - 1),
                 fmt::format("name a limit of {} or more in the file"_hint, *end_of_removed));
  }
}

void TagImport::plan_change(const Tag& existing) {
  tag_ = existing;
  if (imported_.step && *imported_.step != existing.step) tag_.step = *(change_.step = imported_.step);
  if (imported_.limit && imported_.limit != existing.limit) tag_.limit = change_.limit = imported_.limit;
  if (imported_.description && *imported_.description != existing.description) {
    tag_.description = *(change_.description = imported_.description);
  }
  const bool is_changed = change_.step || change_.limit || change_.description;
  if (imported_.next_id > existing.next_id) tag_.next_id = *(change_.raise_to = imported_.next_id);
  action_ = change_.raise_to ? Action::raise : is_changed ? Action::change : Action::nothing;
  if (tag_.limit && *tag_.limit < tag_.next_id - 1) {
    throw misfit(
        imported_.place,
        fmt::format("tag '{}' would have next ID {} and limit {}", tag_.name, tag_.next_id, *tag_.limit),
        imported_.limit ? "" : "name a higher limit in the file"_hint);
  }
}

std::optional<std::int64_t> TagImport::passed() const {
  return imported_.next_id < tag_.next_id ? std::optional(imported_.next_id) : std::nullopt;
}

NewTag TagImport::new_tag() const {
  return {.name = imported_.name,
          .step = imported_.step,
          .start = imported_.next_id,
          .limit = imported_.limit,
          .description = imported_.description,
          .or_later = true};
}

void TagImport::require_above_granted(Store& store) const {
  if (action_ == Action::add) store.require_above_granted(new_tag());
}

void TagImport::carry_out(Store& store) {
  if (action_ == Action::add) {
    tag_ = store.add_tag(new_tag());
  } else if (action_ != Action::nothing) {
    tag_ = store.update_tag(imported_.name, change_);
  }
}

std::vector<TagImport> plan_import(const std::vector<ImportedTag>& tags, Store& store) {
  const std::vector<Tag> existing = store.tags();
  std::vector<TagImport> plan;
  for (const ImportedTag& tag : tags) {
    const auto found = std::ranges::find(existing, tag.name.str(), &Tag::name);
    if (found == existing.end()) {
      plan.emplace_back(tag, std::nullopt, store.end_of_removed(tag.name));
    } else {
      plan.emplace_back(tag, *found);
    }
  }
  return plan;
}

std::vector<Error> lost_tags(const std::vector<TagImport>& plan, Store& store) {
  std::vector<Error> errors;
  for (const TagImport& import : plan) {
    try {
      import.require_above_granted(store);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::refused) throw;
      errors.push_back(error);
    }
  }
  return errors;
}

}  // namespace leaf
