#include <fmt/format.h>

#include <algorithm>

#include "leaf/detail/utf8.hpp"
#include "leaf/store.hpp"
#include "store/found_tag.hpp"
#include "store/store_impl.hpp"
#include "store/tag_error.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::found_in;
using store::FoundTag;
using store::gone_back;
using store::lost_tag;
using store::Row;
using store::tag_of;
using store::Value;

Value value_of(std::optional<std::int64_t> number) {
  return number ? Value(*number) : Value();
}
Value value_of(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

/// The grant in a row, or nothing where the row says that it might not last.
Grant grant_of(const Row& row, const StoreIdentity& store) {
  store::require_durable(row, 5);
  Grant grant{.range = {row.integer(0), row.integer(1)},
              .step = row.integer(2),
              .limit = row.integer(3),
              .start = row.integer(8),
              .incarnation = row.text(4),
              .store = store};
  if (grant.range.lo < 0 || grant.range.lo >= grant.range.hi) {
    throw Error(ErrorCode::failed,
                fmt::format("the store granted no valid range: [{}, {})", grant.range.lo, grant.range.hi));
  }
  return grant;
}

/// A trigger of somebody's could have the row say another one.
void require_size(const Grant& ids, std::int64_t count, bool is_exact) {
  const auto size = ids.range.hi - ids.range.lo;
  if (is_exact ? size == count : size <= std::max({ids.step, count, std::int64_t{1}})) return;
  throw Error(ErrorCode::refused,
              fmt::format("the store granted {} IDs, where {} were asked for", size, count),
              "drop the trigger on table leaf_alloc that alters last_grant"_hint);
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
  if (!detail::is_utf8(*text)) throw Error(ErrorCode::usage, "the description is not in UTF-8");
}

Error no_such_tag(const TagName& name) {
  return {ErrorCode::not_found, fmt::format("tag '{}' does not exist", name.str()),
          advice("create it{}"_hint, Remedy{.kind = Remedy::Kind::add_tag, .name = name.str()})};
}

/// Whether Sql::add_tag adds `tag` where `found` is what the store has.
bool may_be_added(const NewTag& tag, const FoundTag& found) {
  if (!found.end_of_removed) return !found.tag;
  const std::int64_t next_id = *found.end_of_removed;
  return tag.start.value_or(next_id) >= next_id &&
         tag.limit.value_or(max_id) >= next_id - (tag.or_later ? 1 : 0);
}

std::optional<std::int64_t> limit_after(const Tag& tag, const TagChange& change) {
  if (change.remove_limit) return std::nullopt;
  return change.limit ? change.limit : tag.limit;
}

/// Whether Sql::update_tag changes what the store has.
bool may_be_changed(const FoundTag& found, const TagChange& change) {
  if (!found.tag) return false;
  if (!change.limit && !change.raise_to) return true;
  return std::max(found.tag->next_id, change.raise_to.value_or(0)) - 1 <=
         limit_after(*found.tag, change).value_or(max_id);
}

/// Whether the store grants `count` more IDs of what it has, where `mark` is known to be granted.
bool may_be_granted(const FoundTag& found, std::int64_t count, std::int64_t mark) {
  return found.tag && found.tag->next_id >= mark &&
         count - 1 <= found.tag->limit.value_or(max_id) - found.tag->next_id;
}

template <class Read>
std::vector<Tag> by_name(const std::vector<Row>& rows, Read read) {
  std::vector<Tag> tags;
  for (const Row& row : rows) tags.push_back(read(row));
  std::sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) { return a.name < b.name; });
  return tags;
}

std::string shown(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : "none";
}

/// Throws if `existing` is not what `wanted` asks for.
void require_same(const Tag& existing, const NewTag& wanted) {
  const auto refuse = [&](const char* what, const std::string& has, const std::string& asked,
                          Remedy::Kind kind, std::optional<std::int64_t> number = {}) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' exists with {} {}, not {}", existing.name, what, has, asked),
                advice("change it{}"_hint, Remedy{.kind = kind, .name = existing.name, .number = number}));
  };
  if (wanted.step && *wanted.step != existing.step) {
    refuse("step", std::to_string(existing.step), std::to_string(*wanted.step), Remedy::Kind::change_step,
           wanted.step);
  }
  if (wanted.limit && wanted.limit != existing.limit)
    refuse("limit", shown(existing.limit), shown(wanted.limit), Remedy::Kind::change_limit, wanted.limit);
  if (wanted.description && *wanted.description != existing.description) {
    refuse("description", fmt::format("'{}'", existing.description), fmt::format("'{}'", *wanted.description),
           Remedy::Kind::change_description);
  }
  if (!wanted.start || wanted.start == existing.start) return;
  if (wanted.or_later && *wanted.start <= existing.next_id) return;
  if (*wanted.start < existing.next_id) {
    throw Error(ErrorCode::failed, fmt::format("IDs of tag '{}' are granted up to {}: it cannot start at {}",
                                               existing.name, existing.next_id - 1, *wanted.start));
  }
  throw Error(
      ErrorCode::failed,
      fmt::format("tag '{}' exists with start {}, not {}", existing.name, shown(existing.start),
                  *wanted.start),
      advice("raise it{}"_hint,
             Remedy{.kind = Remedy::Kind::raise_tag, .name = existing.name, .number = *wanted.start}));
}

}  // namespace

void store::require_valid(const NewTag& tag) {
  require_between("step", tag.step, 1, max_step);
  require_between("start", tag.start, 0, past_max_id);
  const auto lowest = std::clamp<std::int64_t>(tag.start.value_or(1) - (tag.or_later ? 1 : 0), 0, max_id);
  require_between("limit", tag.limit, tag.start ? 0 : lowest, max_id);
  if (tag.limit.value_or(lowest) < lowest) {
    throw Error(ErrorCode::usage, fmt::format("limit {} is below the first ID, {}", *tag.limit, *tag.start));
  }
  require_description(tag.description);
}

void store::require_valid(const TagChange& change) {
  require_between("step", change.step, 1, max_step);
  require_between("limit", change.limit, 0, max_id);
  require_between("raise-to", change.raise_to, 0, past_max_id);
  require_description(change.description);
}

Tag Store::add_tag(const NewTag& tag) {
  store::require_valid(tag);
  require_above_granted(tag);
  const std::vector<Value> parameters{
      tag.name.str(),      tag.step.value_or(default_step), value_of(tag.start),
      value_of(tag.limit), value_of(tag.description),       static_cast<std::int64_t>(tag.or_later)};
  FoundTag found;
  const auto added = impl_->administer([&](store::Connection& connection, store::TimeLeft left) {
    auto rows = connection.execute(connection.sql().add_tag, parameters, left);
    if (rows.empty())
      found = impl_->look_why(connection, left, tag.name,
                              [&](const FoundTag& seen) { return may_be_added(tag, seen); });
    return rows;
  });
  if (!added.empty()) return tag_of(added[0]);
  if (found.tag) {
    require_same(*found.tag, tag);
    return *found.tag;
  }
  const std::int64_t next_id = *found.end_of_removed;
  const std::int64_t start = tag.start.value_or(next_id);
  if (tag.or_later && start < next_id) {
    NewTag later = tag;
    later.start = next_id;
    return add_tag(later);
  }
  throw Error(
      ErrorCode::failed,
      fmt::format("tag '{}' was removed, and its IDs up to {} are used up", tag.name.str(), next_id - 1),
      next_id > max_id ? "go on with another tag: no ID is greater"_hint
      : start < next_id
          ? fmt::format("leave the start out to go on with {}, or choose a higher one"_hint, next_id)
          : fmt::format("choose a limit of {} or more"_hint, next_id));
}

void Store::require_above_granted(const NewTag& tag) {
  if (impl_->find(tag.name).tag) return;
  const std::string deployment = impl_->deployment();
  const std::int64_t mark = impl_->marks().highest(deployment, mark_of(tag.name));
  if (mark <= tag.start.value_or(0)) return;
  // Once more: the mark may be of a grant after the first look.
  const FoundTag found = impl_->find(tag.name);
  if (impl_->deployment() == deployment && store::is_lost(found, mark))
    throw lost_tag(ErrorCode::refused, tag.name, mark);
}

std::optional<std::int64_t> Store::end_of_removed(const TagName& name) {
  return impl_->find(name).end_of_removed;
}

std::vector<Tag> Store::tags() {
  return by_name(impl_->execute(&store::Sql::tags, {}), tag_of);
}

std::vector<Tag> Store::all_tags() {
  return by_name(impl_->execute(&store::Sql::all_tags, {}), [](const Row& row) {
    Tag tag = tag_of(row);
    if (row.integer(9) == 1) {
      tag.is_removed = true;
      tag.limit.reset();  // it is over, and the next ID may be past it
      tag.description.clear();
    }
    return tag;
  });
}

Tag Store::tag(const TagName& name) {
  FoundTag found = impl_->find(name);
  if (!found.tag) throw impl_->missing(name);
  return *std::move(found.tag);
}

std::vector<std::string> Store::similar_tags(const TagName& name, std::int64_t at_most) {
  const auto difference = static_cast<std::int64_t>(name.str().size() / 3 + 1);
  std::vector<std::string> names;
  for (const Row& row : impl_->execute(&store::Sql::similar_tags, {name.str(), difference, at_most}))
    names.push_back(row.text(0));
  return names;
}

Tag Store::update_tag(const TagName& name, const TagChange& change) {
  store::require_valid(change);
  const std::vector<Value> parameters{name.str(),
                                      value_of(change.step),
                                      value_of(change.limit),
                                      value_of(change.description),
                                      value_of(change.raise_to),
                                      static_cast<std::int64_t>(change.remove_limit)};
  FoundTag found;
  const auto rows = impl_->administer([&](store::Connection& connection, store::TimeLeft left) {
    auto changed = connection.execute(connection.sql().update_tag, parameters, left);
    if (changed.empty())
      found = impl_->look_why(connection, left, name,
                              [&](const FoundTag& seen) { return may_be_changed(seen, change); });
    return changed;
  });
  if (!rows.empty()) {
    Tag changed = tag_of(rows[0]);
    if (changed.next_id < change.raise_to.value_or(0)) throw store::put_back();
    return changed;
  }
  if (!found.tag) throw impl_->missing(name);
  const std::int64_t next_id = std::max(found.tag->next_id, change.raise_to.value_or(0));
  throw Error(
      ErrorCode::usage,
      fmt::format("IDs of tag '{}' are granted up to {}, and it has {}: limit {} and next ID {} do not fit",
                  name.str(), found.tag->next_id - 1,
                  found.tag->limit ? "limit " + std::to_string(*found.tag->limit) : "no limit",
                  shown(limit_after(*found.tag, change)), next_id),
      fmt::format("choose a limit of {} or more"_hint, next_id - 1));
}

void Store::remove_tag(const TagName& name) {
  const auto removed = impl_->administer([&](store::Connection& connection, store::TimeLeft left) {
    // An attempt before may have removed it, in a commit of which nobody has heard: this one lasts only if
    // that one does.
    const Value parameters[] = {name.str(), std::int64_t{impl_->retried()}};
    auto rows = connection.execute(connection.sql().remove_tag, parameters, left);
    if (rows.empty()) {
      impl_->look_why(connection, left, name, [](const FoundTag& seen) { return seen.tag.has_value(); });
    }
    return rows;
  });
  if (!removed.empty()) return;
  impl_->execute(&store::Sql::confirm, {});  // a removal that is there already may be lost
  throw impl_->missing(name);
}

Grant Store::grant(const TagName& name, std::int64_t count) {
  require_between("the number of IDs", count, 1, max_id);
  return impl_->grant_ids(&store::Sql::grant_exactly, name, count);
}

Grant Store::grant_segment(const TagName& name, std::int64_t wish) {
  require_between("the segment's size", wish, 0, max_segment);
  return impl_->grant_ids(&store::Sql::grant_segment, name, wish);
}

std::int64_t Store::granted_mark(const TagName& name) {
  return impl_->marks().highest(identity().deployment, mark_of(name));
}

std::vector<LostTag> Store::lost_tags() {
  const std::string deployment = identity().deployment;
  std::vector<LostTag> lost;
  for (const std::string& subject : impl_->marks().subjects(deployment)) {
    const auto name = tag_of_mark(subject);
    if (!name) continue;
    if (const std::int64_t mark = impl_->mark_of_lost_tag(*name); mark > 0) lost.push_back({*name, mark});
  }
  std::ranges::sort(lost, {}, &LostTag::name);
  return lost;
}

std::int64_t Store::Impl::mark_of_lost_tag(const TagName& name) {
  const std::string deployment = deployment_;
  const std::int64_t mark = marks_->highest(deployment, mark_of(name));
  if (mark == 0) return 0;
  const FoundTag found = find(name);
  return deployment_ == deployment && store::is_lost(found, mark) ? mark : 0;
}

Error Store::Impl::missing(const TagName& name) {
  const std::int64_t mark = mark_of_lost_tag(name);
  return mark > 0 ? lost_tag(ErrorCode::not_found, name, mark) : no_such_tag(name);
}

Grant Store::Impl::grant_ids(const char* store::Sql::*statement, const TagName& name, std::int64_t count) {
  const std::string subject = mark_of(name);
  const std::int64_t needed = statement == &store::Sql::grant_exactly ? count : 1;
  std::int64_t mark = 0;
  FoundTag found;
  // Read before the store is asked, or in its turn: what other threads and processes are granted afterwards
  // is no sign of its having gone back.
  const auto look_at_mark = [&] { return mark = marks_->highest(deployment_, subject); };
  const auto granted = grant(
      statement, 6,
      [&](const std::string&) {
        return std::vector<Value>{name.str(), count, look_at_mark()};
      },
      [&](store::Connection& connection, store::TimeLeft left) {
        found = look_why(connection, left, name,
                         [&](const FoundTag& seen) { return may_be_granted(seen, needed, mark); });
      },
      look_at_mark);
  if (!granted) {
    if (found.tag) throw found.tag->next_id < mark ? gone_back(name, mark) : store::too_few_left(*found.tag);
    throw store::is_lost(found, mark) ? lost_tag(ErrorCode::not_found, name, mark) : no_such_tag(name);
  }
  Grant ids = grant_of(granted->first, granted->second);
  require_size(ids, count, statement == &store::Sql::grant_exactly);
  if (ids.range.lo < mark) throw gone_back(name, mark);
  if (!claim(ids.store, subject, ids.range))
    throw gone_back(name, marks_->highest(ids.store.deployment, subject));
  return ids;
}

}  // namespace leaf
