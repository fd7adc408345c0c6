#include "tags/tag_import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/hint.hpp"

namespace leafctl {

TagImport::TagImport(const FiledTag& filed, const std::optional<leaf::Tag>& existing,
                     std::optional<std::int64_t> end_of_removed)
    : filed_(filed) {
  if (existing) {
    plan_change(*existing);
  } else {
    plan_addition(end_of_removed);
  }
}

void TagImport::plan_addition(std::optional<std::int64_t> end_of_removed) {
  const std::int64_t next_id = std::max(filed_.next_id, end_of_removed.value_or(0));
  tag_ = {.name = filed_.name.str(),
          .next_id = next_id,
          .step = filed_.step.value_or(leaf::default_step),
          .start = next_id,
          .limit = filed_.limit,
          .description = filed_.description.value_or(""),
          .updated_at = {},
          .incarnation = {}};
  if (end_of_removed && filed_.limit && *filed_.limit < *end_of_removed - 1) {
    throw filed_.place.error(fmt::format("tag '{}' was removed after it had given out IDs up to {}",
                                         tag_.name, *end_of_removed - 1),
                             fmt::format("name a limit of {} or more in the file"_hint, *end_of_removed));
  }
}

void TagImport::plan_change(const leaf::Tag& existing) {
  tag_ = existing;
  if (filed_.step && *filed_.step != existing.step) tag_.step = *(change_.step = filed_.step);
  if (filed_.limit && filed_.limit != existing.limit) tag_.limit = change_.limit = filed_.limit;
  if (filed_.description && *filed_.description != existing.description) {
    tag_.description = *(change_.description = filed_.description);
  }
  const bool is_changed = change_.step || change_.limit || change_.description;
  if (filed_.next_id > existing.next_id) tag_.next_id = *(change_.raise_to = filed_.next_id);
  action_ = change_.raise_to ? Action::raise : is_changed ? Action::change : Action::nothing;
  if (tag_.limit && *tag_.limit < tag_.next_id - 1) {
    throw filed_.place.error(
        fmt::format("tag '{}' would have next ID {} and limit {}", tag_.name, tag_.next_id, *tag_.limit),
        filed_.limit ? "" : "name a higher limit in the file"_hint);
  }
}

std::optional<std::int64_t> TagImport::passed() const {
  return filed_.next_id < tag_.next_id ? std::optional(filed_.next_id) : std::nullopt;
}

leaf::NewTag TagImport::new_tag() const {
  return {.name = filed_.name,
          .step = filed_.step,
          .start = filed_.next_id,
          .limit = filed_.limit,
          .description = filed_.description,
          .or_later = true};
}

void TagImport::require_above_granted(leaf::Store& store) const {
  if (action_ == Action::add) store.require_above_granted(new_tag());
}

void TagImport::carry_out(leaf::Store& store) {
  if (action_ == Action::add) {
    tag_ = store.add_tag(new_tag());
  } else if (action_ != Action::nothing) {
    tag_ = store.update_tag(filed_.name, change_);
  }
}

std::vector<TagImport> plan_import(const std::vector<FiledTag>& tags, leaf::Store& store) {
  const std::vector<leaf::Tag> existing = store.tags();
  std::vector<TagImport> plan;
  for (const FiledTag& tag : tags) {
    const auto found = std::ranges::find(existing, tag.name.str(), &leaf::Tag::name);
    if (found == existing.end()) {
      plan.emplace_back(tag, std::nullopt, store.end_of_removed(tag.name));
    } else {
      plan.emplace_back(tag, *found);
    }
  }
  return plan;
}

}  // namespace leafctl
