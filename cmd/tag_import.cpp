#include "tag_import.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace leafctl {

TagImport::TagImport(const FiledTag& filed, const std::optional<leaf::Tag>& existing) : filed_(filed) {
  if (existing) {
    plan_change(*existing);
    return;
  }
  tag_ = {.name = filed.name.str(),
          .next_id = filed.next_id,
          .step = filed.step.value_or(leaf::default_step),
          .start = filed.next_id,
          .limit = filed.limit,
          .description = filed.description.value_or(""),
          .updated_at = {},
          .incarnation = {}};
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
        filed_.limit ? "" : "name a higher limit in the file");
  }
}

std::optional<std::int64_t> TagImport::passed() const {
  return filed_.next_id < tag_.next_id ? std::optional(filed_.next_id) : std::nullopt;
}

void TagImport::carry_out(leaf::Store& store) {
  if (action_ == Action::add) {
    tag_ = store.add_tag({.name = filed_.name,
                          .step = filed_.step,
                          .start = filed_.next_id,
                          .limit = filed_.limit,
                          .description = filed_.description,
                          .or_later = true});
  } else if (action_ != Action::nothing) {
    tag_ = store.update_tag(filed_.name, change_);
  }
}

std::vector<TagImport> plan_import(const std::vector<FiledTag>& tags,
                                   const std::vector<leaf::Tag>& existing) {
  std::vector<TagImport> plan;
  for (const FiledTag& tag : tags) {
    const auto found = std::ranges::find(existing, tag.name.str(), &leaf::Tag::name);
    plan.emplace_back(tag, found == existing.end() ? std::nullopt : std::optional(*found));
  }
  return plan;
}

}  // namespace leafctl
