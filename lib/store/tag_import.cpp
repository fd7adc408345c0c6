#include "leaf/tag_import.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "store/found_tag.hpp"
#include "store/migrations.hpp"
#include "store/store_impl.hpp"
#include "store/tag_error.hpp"
#include "store/uuid.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

template <class Hint>
Error misfit(const std::string& place, const std::string& what, const Hint& hint) {
  return {ErrorCode::usage, place.empty() ? what : fmt::format("{}: {}", place, what), hint};
}

}  // namespace

TagImport::TagImport(const ImportedTag& tag, const std::optional<Tag>& existing,
                     std::optional<std::int64_t> end_of_removed)
    : imported_(tag) {
  if (imported_.is_removed) {
    existing ? plan_raise(*existing) : plan_tombstone(end_of_removed);
  } else if (existing) {
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
    throw misfit(
        imported_.place,
        fmt::format("tag '{}' was removed, and its IDs up to {} are used up", tag_.name, *end_of_removed - 1),
        *end_of_removed > max_id
            ? "leave it out of the file: its last ID was given out"_hint
            : fmt::format("name a limit of {} or more in the file"_hint, *end_of_removed));
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

void TagImport::plan_raise(const Tag& existing) {
  tag_ = existing;
  action_ = Action::nothing;
  if (imported_.next_id <= existing.next_id) return;
  tag_.next_id = *(change_.raise_to = imported_.next_id);
  action_ = Action::raise;
  if (tag_.limit && *tag_.limit < tag_.next_id - 1) {
    // Whoever raises that limit later would have IDs again that the removed tag gave out.
    throw misfit(
        imported_.place,
        fmt::format("tag '{}' would have next ID {} and limit {}", tag_.name, tag_.next_id, *tag_.limit),
        advice("raise its limit to {} or more{}"_hint, tag_.next_id - 1,
               Remedy{.kind = Remedy::Kind::change_limit, .name = tag_.name, .number = tag_.next_id - 1}));
  }
}

void TagImport::plan_tombstone(std::optional<std::int64_t> end_of_removed) {
  const std::int64_t next_id = std::max(imported_.next_id, end_of_removed.value_or(0));
  tag_ = {.name = imported_.name.str(),
          .next_id = next_id,
          .step = imported_.step.value_or(default_step),
          .start = next_id,
          .updated_at = {},
          .incarnation = {},
          .is_removed = true};
  if (!end_of_removed) {
    action_ = Action::note;
  } else if (next_id > *end_of_removed) {
    change_.raise_to = next_id;
    action_ = Action::raise;
  } else {
    action_ = Action::nothing;
  }
}

std::optional<std::int64_t> TagImport::passed() const {
  return imported_.next_id < tag_.next_id ? std::optional(imported_.next_id) : std::nullopt;
}

namespace {

using std::chrono::milliseconds;
using store::found_in;
using store::FoundTag;
using store::Row;
using store::Value;

/// An array of texts or objects, as the statements for many tags take it.
class Json {
 public:
  void add(const std::string& text) {
    part();
    quote(text);
  }
  void begin() {
    part();
    text_ += '{';
    is_first_ = true;
  }
  void field(const char* name, const std::optional<std::string>& value) {
    if (!value) return;
    key(name);
    quote(*value);
  }
  void field(const char* name, std::optional<std::int64_t> value) {
    if (!value) return;
    key(name);
    text_ += std::to_string(*value);
  }
  void end() {
    text_ += '}';
    is_first_ = false;
  }
  std::string text() const { return text_ + ']'; }
  bool is_empty() const { return text_.size() == 1; }

 private:
  void part() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }
  void key(const char* name) {
    part();
    quote(name);
    text_ += ':';
  }
  void quote(const std::string& text) {
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        text_ += fmt::format("\\u{:04x}", static_cast<int>(c));
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_ = "[";
  bool is_first_ = true;
};

using FoundTags = std::map<std::string, FoundTag, std::less<>>;

}  // namespace

/// One import, and what its attempts have in common.
class Import {
 public:
  Import(const std::vector<ImportedTag>& tags, Store& store) : imported_(tags), impl_(*store.impl_) {
    std::set<std::string_view> names;
    for (const ImportedTag& tag : tags) {
      if (names.insert(tag.name.str()).second) continue;
      throw misfit(tag.place, fmt::format("tag '{}' is imported twice", tag.name.str()), "");
    }
  }

  ImportPlan plan() {
    return impl_.attempt(store::IfMissing::fail, true,
                         [&](store::Connection& connection, store::TimeLeft left) {
                           return planned(connection, [left] { return milliseconds(left); });
                         });
  }

  ImportPlan carry_out() {
    std::vector<TagImport> unknown;  // what an attempt has committed, as far as anybody knows
    return impl_.administer([&](store::Connection& connection, store::TimeLeft left) {
      store::Transaction transaction(connection, left);
      const auto time_left = [&] { return transaction.time_left(); };
      ImportPlan plan = planned(connection, time_left);
      if (!plan.lost.empty()) return plan;
      for (std::size_t i = 0; i < unknown.size(); ++i) go_on(unknown[i], plan.tags[i]);
      // Who draws holds one row at a time, and waits for none that is added.
      change(plan.tags, connection, time_left);
      add(plan.tags, connection, time_left);
      bury(plan.tags, connection, time_left);
      unknown = plan.tags;
      transaction.confirm();
      return plan;
    });
  }

 private:
  using Action = TagImport::Action;

  template <typename TimeLeft>
  ImportPlan planned(store::Connection& connection, TimeLeft time_left) const {
    const FoundTags found = find(imported_, connection, time_left());
    ImportPlan plan;
    plan.tags.reserve(imported_.size());
    for (const ImportedTag& tag : imported_) {
      const auto known = found.find(tag.name.str());
      if (known == found.end()) {
        plan.tags.emplace_back(tag, std::nullopt);
      } else {
        plan.tags.emplace_back(tag, known->second.tag, known->second.end_of_removed);
      }
      const TagImport& planned = plan.tags.back();
      if (planned.action() != Action::add && planned.action() != Action::note) {
        store::require_valid(planned.change_);
        continue;
      }
      store::require_valid(NewTag{.name = tag.name,
                                  .step = tag.step,
                                  .start = tag.next_id,
                                  .limit = tag.limit,
                                  .description = tag.description,
                                  .or_later = true});
      if (auto lost = error_if_lost(tag, connection, time_left)) plan.lost.push_back(std::move(*lost));
    }
    return plan;
  }

  template <typename TimeLeft>
  std::optional<Error> error_if_lost(const ImportedTag& tag, store::Connection& connection,
                                     TimeLeft time_left) const {
    const std::int64_t mark = impl_.marks().highest(impl_.deployment(), mark_of(tag.name));
    if (mark <= tag.next_id) return std::nullopt;
    // Looked at anew: the mark may be of a grant after the first look.
    const FoundTags found = find({tag}, connection, time_left());
    if (!store::is_lost(found.empty() ? FoundTag() : found.begin()->second, mark)) return std::nullopt;
    return store::lost_tag(ErrorCode::refused, tag.name, mark);
  }

  static FoundTags find(const std::vector<ImportedTag>& tags, store::Connection& connection,
                        milliseconds left) {
    Json names;
    for (const ImportedTag& tag : tags) names.add(tag.name.str());
    const Value parameter = names.text();
    FoundTags found;
    for (const Row& row : connection.execute(connection.sql().tags_named, {&parameter, 1}, left))
      found.emplace(row.text(0), found_in(row));
    return found;
  }

  /// After an attempt without a known outcome: what it did is told as done by this one, and written once
  /// more, so that this commit lasts only if that one does.
  static void go_on(const TagImport& before, TagImport& now) {
    if (now.action_ == Action::nothing && before.action_ != Action::nothing) {
      // Somebody may have added a removed one since.
      if (now.tag_.is_removed == before.tag_.is_removed) now.action_ = before.action_;
      now.is_done_ = true;
    }
  }

  static bool is_added(const TagImport& tag) {
    return (tag.action_ == Action::add || tag.action_ == Action::note) && !tag.is_done_;
  }
  static bool is_changed(const TagImport& tag) {
    return !tag.tag_.is_removed &&
           (tag.is_done_ || tag.action_ == Action::raise || tag.action_ == Action::change);
  }
  static bool is_buried(const TagImport& tag) {
    return tag.tag_.is_removed && (tag.is_done_ || tag.action_ != Action::nothing);
  }

  template <typename TimeLeft>
  void change(std::vector<TagImport>& plan, store::Connection& connection, TimeLeft time_left) const {
    const auto describe = [](Json& changes, const TagImport& tag) {
      changes.field("step", tag.change_.step);
      changes.field("id_limit", tag.change_.limit);
      changes.field("description", tag.change_.description);
      changes.field("raise_to", tag.change_.raise_to);
    };
    run(connection.sql().update_tags, is_changed, describe, plan, connection, time_left);
  }

  template <typename TimeLeft>
  void add(std::vector<TagImport>& plan, store::Connection& connection, TimeLeft time_left) const {
    const auto describe = [](Json& added, const TagImport& tag) {
      added.field("step", tag.tag_.step);
      added.field("start", tag.tag_.next_id);
      added.field("id_limit", tag.tag_.limit);
      added.field("description", tag.imported_.description);
      added.field("incarnation", store::new_uuid());
    };
    run(connection.sql().add_tags, is_added, describe, plan, connection, time_left);
  }

  /// Leaves tombstones of what was added to be one, so that the log of changes tells both, and raises those
  /// that there were.
  template <typename TimeLeft>
  void bury(std::vector<TagImport>& plan, store::Connection& connection, TimeLeft time_left) const {
    const auto describe = [](Json& buried, const TagImport& tag) {
      buried.field("raise_to", tag.tag_.next_id);
      buried.field("is_added", static_cast<std::int64_t>(is_added(tag)));
    };
    run(connection.sql().bury_tags, is_buried, describe, plan, connection, time_left);
  }

  /// One statement for all tags that are meant, described to it as JSON. Throws Error, after which all is
  /// planned anew, unless it returns each of them.
  template <typename Describe, typename TimeLeft>
  static void run(const char* statement, bool (*is_meant)(const TagImport&), Describe describe,
                  std::vector<TagImport>& plan, store::Connection& connection, TimeLeft time_left) {
    Json json;
    for (const TagImport& tag : plan) {
      if (!is_meant(tag)) continue;
      json.begin();
      json.field("tag", tag.tag_.name);
      describe(json, tag);
      json.end();
    }
    if (json.is_empty()) return;
    const Value parameter = json.text();
    std::map<std::string, Tag, std::less<>> changed;
    for (const Row& row : connection.execute(statement, {&parameter, 1}, time_left()))
      changed.emplace(row.text(0), store::tag_of(row));
    for (TagImport& tag : plan) {
      if (!is_meant(tag)) continue;
      const auto found = changed.find(tag.tag_.name);
      if (found == changed.end()) throw store::changed_meanwhile(tag.imported_.name);
      const bool is_removed = tag.tag_.is_removed;
      tag.tag_ = found->second;
      tag.tag_.is_removed = is_removed;
    }
  }

  const std::vector<ImportedTag>& imported_;
  Store::Impl& impl_;
};

ImportPlan plan_import(const std::vector<ImportedTag>& tags, Store& store) {
  return Import(tags, store).plan();
}

ImportPlan import_tags(const std::vector<ImportedTag>& tags, Store& store) {
  return Import(tags, store).carry_out();
}

}  // namespace leaf
