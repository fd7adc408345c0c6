#include <fmt/format.h>

#include <algorithm>

#include "leaf/store.hpp"
#include "store/store_impl.hpp"
#include "store/tag_error.hpp"
#include "text/counted.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Row;
using store::Value;

Value value_of(std::optional<std::int64_t> number) {
  return number ? Value(*number) : Value();
}
Value value_of(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

std::optional<UnixTime> time_of(std::optional<std::int64_t> unix_ms) {
  if (!unix_ms) return std::nullopt;
  return UnixTime(milliseconds(*unix_ms));
}

Tag tag_of(const Row& row) {
  return {.name = row.text(0),
          .next_id = row.integer(1),
          .step = row.integer(2),
          .start = row.integer_or_null(3),
          .limit = row.integer_or_null(4),
          .description = row.text(5),
          .updated_at = UnixTime(milliseconds(row.integer(6))),
          .granted_at = time_of(row.integer_or_null(8)),
          .incarnation = row.text(7)};
}

/// The grant in a row, or nothing where the row says that it might not last.
Grant grant_of(const Row& row, const StoreIdentity& store) {
  store::require_durable(row, 5);
  Grant grant{.range = {row.integer(0), row.integer(1)},
              .step = row.integer(2),
              .limit = row.integer(3),
              .incarnation = row.text(4),
              .store = store};
  if (grant.range.lo < 0 || grant.range.lo >= grant.range.hi) {
    throw Error(ErrorCode::failed,
                fmt::format("the store granted no valid range: [{}, {})", grant.range.lo, grant.range.hi));
  }
  return grant;
}

void require_between(const char* what, std::optional<std::int64_t> value, std::int64_t lowest,
                     std::int64_t highest) {
  if (value && (*value < lowest || *value > highest)) {
    throw Error(ErrorCode::usage, fmt::format("{} {} is not from {} to {}", what, *value, lowest, highest));
  }
}

void require_description(const std::optional<std::string>& text) {
  if (!text) return;
  const auto characters =
      std::count_if(text->begin(), text->end(), [](char c) { return (c & 0xC0) != 0x80; });
  if (static_cast<std::size_t>(characters) > max_description) {
    throw Error(ErrorCode::usage,
                fmt::format("the description has {} characters, more than {}", characters, max_description));
  }
  if (text->find('\0') != std::string::npos)
    throw Error(ErrorCode::usage, "the description holds a zero byte");
}

/// A command on a tag for a hint: a name that begins with a dash would be taken for an option.
std::string command_on(const std::string& tag, std::string_view command, std::string_view options = {}) {
  const bool is_like_option = tag.starts_with('-');
  std::string text = fmt::format("'leafctl {}", command);
  if (!is_like_option) text += " " + tag;
  if (!options.empty()) text += fmt::format(" {}", options);
  if (is_like_option) text += " -- " + tag;
  return text + "'";
}

Error no_such_tag(const TagName& name) {
  return {ErrorCode::not_found, fmt::format("tag '{}' does not exist", name.str()),
          "create it with "_hint + command_on(name.str(), "add-tag")};
}

/// IDs up to `mark` were granted to this host before, but the store has no row of the tag, not even a
/// tombstone.
Error lost_tag(ErrorCode code, const TagName& name, std::int64_t mark) {
  return {
      code,
      fmt::format("tag '{}' does not exist, but IDs of it were granted before, up to {}: the store was put "
                  "back to a backup, or an old standby took over",
                  name.str(), mark - 1),
      fmt::format("run {}, with a higher number where {} names one on another host"_hint,
                  command_on(name.str(), "add-tag", fmt::format("--start {}", mark)),
                  command_on(name.str(), "tags show"))};
}

std::string shown(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : "none";
}

/// Throws if `existing` is not what `wanted` asks for.
void require_same(const Tag& existing, const NewTag& wanted) {
  const auto refuse = [&](const char* what, const std::string& has, const std::string& asked,
                          const std::string& option) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' exists with {} {}, not {}", existing.name, what, has, asked),
                "change it with "_hint + command_on(existing.name, "tags update", option));
  };
  if (wanted.step && *wanted.step != existing.step) {
    refuse("step", std::to_string(existing.step), std::to_string(*wanted.step),
           fmt::format("--step {}", *wanted.step));
  }
  if (wanted.limit && wanted.limit != existing.limit)
    refuse("limit", shown(existing.limit), shown(wanted.limit), fmt::format("--limit {}", *wanted.limit));
  if (wanted.description && *wanted.description != existing.description) {
    refuse("description", fmt::format("'{}'", existing.description), fmt::format("'{}'", *wanted.description),
           "--description TEXT");
  }
  if (!wanted.start || wanted.start == existing.start) return;
  if (wanted.or_later && *wanted.start <= existing.next_id) return;
  if (*wanted.start < existing.next_id) {
    throw Error(ErrorCode::failed, fmt::format("tag '{}' has given out IDs up to {}: it cannot start at {}",
                                               existing.name, existing.next_id - 1, *wanted.start));
  }
  throw Error(ErrorCode::failed,
              fmt::format("tag '{}' exists with start {}, not {}", existing.name, shown(existing.start),
                          *wanted.start),
              "raise it with "_hint +
                  command_on(existing.name, "tags update", fmt::format("--raise-to {}", *wanted.start)));
}

}  // namespace

Tag Store::add_tag(const NewTag& tag) {
  require_between("step", tag.step, 1, max_step);
  require_between("start", tag.start, 0, tag.or_later ? past_max_id : max_id);
  require_between("limit", tag.limit,
                  std::max<std::int64_t>(tag.start.value_or(1) - (tag.or_later ? 1 : 0), 0), max_id);
  require_description(tag.description);
  require_above_granted(tag);
  const auto added = impl_->execute(
      &store::Sql::add_tag,
      {tag.name.str(), tag.step.value_or(default_step), value_of(tag.start), value_of(tag.limit),
       value_of(tag.description), static_cast<std::int64_t>(tag.or_later)});
  if (!added.empty()) return tag_of(added[0]);
  const auto existing = impl_->execute(&store::Sql::tag, {tag.name.str()});
  if (!existing.empty()) {
    Tag found = tag_of(existing[0]);
    require_same(found, tag);
    return found;
  }
  const auto next_id = end_of_removed(tag.name);
  if (!next_id) {
    throw Error(ErrorCode::unavailable,
                fmt::format("tag '{}' was changed by somebody else meanwhile", tag.name.str()));
  }
  const std::int64_t start = tag.start.value_or(*next_id);
  if (tag.or_later && start < *next_id) {
    NewTag later = tag;
    later.start = next_id;
    return add_tag(later);
  }
  throw Error(
      ErrorCode::failed,
      fmt::format("tag '{}' was removed after it had given out IDs up to {}", tag.name.str(), *next_id - 1),
      start < *next_id
          ? fmt::format("leave --start out to go on with {}, or choose a higher one"_hint, *next_id)
          : fmt::format("choose a --limit of {} or more"_hint, *next_id));
}

void Store::require_above_granted(const NewTag& tag) {
  if (!impl_->execute(&store::Sql::tag, {tag.name.str()}).empty()) return;
  const std::int64_t mark = impl_->marks().highest(impl_->deployment(), mark_of(tag.name));
  if (mark <= tag.start.value_or(0)) return;
  if (mark > end_of_removed(tag.name).value_or(0)) throw lost_tag(ErrorCode::refused, tag.name, mark);
}

std::optional<std::int64_t> Store::end_of_removed(const TagName& name) {
  const auto removed = impl_->execute(&store::Sql::removed_tag, {name.str()});
  if (removed.empty()) return std::nullopt;
  return removed[0].integer(0);
}

std::vector<Tag> Store::tags() {
  std::vector<Tag> tags;
  for (const Row& row : impl_->execute(&store::Sql::tags, {})) tags.push_back(tag_of(row));
  std::sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) { return a.name < b.name; });
  return tags;
}

Tag Store::tag(const TagName& name) {
  const auto rows = impl_->execute(&store::Sql::tag, {name.str()});
  if (rows.empty()) throw impl_->missing(name);
  return tag_of(rows[0]);
}

std::vector<std::string> Store::similar_tags(const TagName& name, std::int64_t at_most) {
  const auto difference = static_cast<std::int64_t>(name.str().size() / 3 + 1);
  std::vector<std::string> names;
  for (const Row& row : impl_->execute(&store::Sql::similar_tags, {name.str(), difference, at_most}))
    names.push_back(row.text(0));
  return names;
}

Tag Store::update_tag(const TagName& name, const TagChange& change) {
  require_between("step", change.step, 1, max_step);
  require_between("limit", change.limit, 0, max_id);
  require_between("raise-to", change.raise_to, 0, past_max_id);
  require_description(change.description);
  const auto rows =
      impl_->execute(&store::Sql::update_tag,
                     {name.str(), value_of(change.step), value_of(change.limit), value_of(change.description),
                      value_of(change.raise_to), static_cast<std::int64_t>(change.remove_limit)});
  if (!rows.empty()) return tag_of(rows[0]);
  const Tag found = tag(name);
  throw Error(
      ErrorCode::usage,
      fmt::format("tag '{}' has given out IDs up to {} and has limit {}: limit {} and next ID {} do not fit",
                  found.name, found.next_id - 1, shown(found.limit),
                  change.remove_limit ? "none" : shown(change.limit ? change.limit : found.limit),
                  std::max(found.next_id, change.raise_to.value_or(0))));
}

void Store::remove_tag(const TagName& name) {
  if (!impl_->execute(&store::Sql::remove_tag, {name.str()}).empty()) return;
  const bool may_be_done = impl_->retried();
  if (may_be_done && end_of_removed(name)) return;
  throw impl_->missing(name);
}

namespace {

/// IDs up to `mark` were granted to this host before.
Error gone_back(const TagName& name, std::int64_t mark) {
  return {
      ErrorCode::refused,
      fmt::format("the store has granted IDs of tag '{}' before, up to {}: it was put back to a backup, or "
                  "an old standby took over",
                  name.str(), mark - 1),
      fmt::format(
          "run {}, with a higher number where 'leafctl doctor' names one on another host: what others "
          "have buffered counts too"_hint,
          command_on(name.str(), "tags update", fmt::format("--raise-to {}", mark)))};
}

/// Why no row came back from a grant of a tag that there is.
Error no_grant(const TagName& name, const std::vector<Row>& found, std::int64_t mark) {
  const Tag tag = tag_of(found[0]);
  return tag.next_id < mark ? gone_back(name, mark) : store::too_few_left(tag);
}

}  // namespace

Error store::too_few_left(const Tag& tag, std::uint64_t buffered) {
  const std::int64_t limit = tag.limit.value_or(max_id);
  const std::int64_t in_store = tag.next_id > limit ? 0 : limit - tag.next_id + 1;
  return {ErrorCode::exhausted,
          fmt::format("tag '{}' has {} left up to its limit {}", tag.name,
                      counted(in_store + static_cast<std::int64_t>(buffered), "ID"), limit),
          tag.limit ? "raise it with "_hint + command_on(tag.name, "tags update", "--limit ID") : ""};
}

Grant Store::grant(const TagName& name, std::int64_t count) {
  require_between("the number of IDs", count, 1, max_id);
  return impl_->grant_ids(&store::Sql::grant_exactly, name, count);
}

Grant Store::grant_segment(const TagName& name, std::int64_t wish) {
  require_between("the segment's size", wish, 0, max_step);
  return impl_->grant_ids(&store::Sql::grant_segment, name, wish);
}

std::int64_t Store::granted_mark(const TagName& name) {
  return impl_->marks().highest(identity().deployment, mark_of(name));
}

std::int64_t Store::Impl::mark_of_lost_tag(const TagName& name) {
  const std::int64_t mark = marks_->highest(deployment_, mark_of(name));
  return mark > 0 && execute(&store::Sql::removed_tag, {name.str()}).empty() ? mark : 0;
}

Error Store::Impl::missing(const TagName& name) {
  const std::int64_t mark = mark_of_lost_tag(name);
  return mark > 0 ? lost_tag(ErrorCode::not_found, name, mark) : no_such_tag(name);
}

Grant Store::Impl::grant_ids(const char* store::Sql::*statement, const TagName& name, std::int64_t count) {
  const std::string subject = mark_of(name);
  std::int64_t mark = 0;
  const auto granted = grant(statement, 6, [&](const std::string& deployment) {
    // Read before the store is asked: what other threads and processes are granted meanwhile is no sign of
    // its having gone back.
    mark = marks_->highest(deployment, subject);
    return std::vector<Value>{name.str(), count, mark};
  });
  if (!granted) {
    const auto found = execute(&store::Sql::tag, {name.str()});
    throw found.empty() ? missing(name) : no_grant(name, found, mark);
  }
  Grant ids = grant_of(granted->first, granted->second);
  if (ids.range.lo < mark) throw gone_back(name, mark);
  marks_->raise(ids.store.deployment, subject, ids.range.hi);
  return ids;
}

}  // namespace leaf
