#include "tags/tags_behind.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "leaf/failover.hpp"
#include "leaf/health.hpp"
#include "tags/tag_command.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

std::set<std::string> tags_that_wait(leaf::Store& store) {
  std::set<std::string> names;
  if (!store.health().guard) return names;
  for (const leaf::FailoverTag& tag : store.failover().tags) {
    if (tag.state == leaf::FailoverTag::State::waiting) names.insert(tag.name);
  }
  return names;
}

leaf::Error refused(std::string text, std::string hint) {
  return {leaf::ErrorCode::refused, std::move(text), std::move(hint)};
}

std::string hint_to_run(const std::string& command) {
  return fmt::format(
      "run 'leafctl {}', with a higher number where 'leafctl doctor' names one on another host, as another "
      "user, or for another runtime folder"_hint,
      command);
}

leaf::Error behind(const leaf::Tag& tag, std::int64_t mark) {
  return refused(
      fmt::format("tag '{}' would go on from {}, although this host was granted IDs up to {}: the store "
                  "has gone back",
                  tag.name, tag.next_id, mark - 1),
      hint_to_run("tags update " + tag_arguments(tag.name, fmt::format("--raise-to {}", mark))));
}

leaf::Error lost(const leaf::LostTag& tag) {
  return refused(
      fmt::format("tag '{}' is gone from the store, but this host was granted IDs of it up to {}: the store "
                  "has gone back",
                  tag.name.str(), tag.granted_end - 1),
      hint_to_run("add-tag " + tag_arguments(tag.name.str(), fmt::format("--start {}", tag.granted_end))) +
          "; if it had a limit, set that again"_hint);
}

}  // namespace

std::vector<leaf::Error> tags_behind(const std::vector<leaf::Tag>& tags, leaf::Store& store,
                                     const std::function<bool(const std::string&)>& is_meant) {
  std::vector<leaf::Error> errors;
  const auto waiting = tags_that_wait(store);
  for (const leaf::Tag& tag : tags) {
    if (!leaf::TagName::is_valid(tag.name)) continue;
    if (waiting.contains(tag.name)) {
      errors.push_back(refused(
          fmt::format("tag '{}' has not yet left out what may have been granted before a failover or restore",
                      tag.name),
          "run 'leafctl failover settle' to make it do so"_hint));
    } else if (tag.is_removed) {
      continue;  // it counts as lost if it is behind
    } else if (const std::int64_t mark = store.granted_mark(leaf::TagName(tag.name)); mark > tag.next_id) {
      // Somebody may have drawn since it was read.
      const leaf::Tag now = store.tag(leaf::TagName(tag.name));
      if (mark > now.next_id) errors.push_back(behind(now, mark));
    }
  }
  for (const leaf::LostTag& tag : store.lost_tags()) {
    if (is_meant(tag.name.str())) errors.push_back(lost(tag));
  }
  return errors;
}

}  // namespace leafctl
