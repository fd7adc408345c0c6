#include "leaf/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "leaf/error.hpp"
#include "store/connection.hpp"
#include "store/driver.hpp"
#include "store/migrations.hpp"
#include "store/retry.hpp"
#include "store/url.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Connection;
using store::Row;
using store::Value;

constexpr std::size_t max_description = 256;

Value value_of(std::optional<std::int64_t> number) {
  return number ? Value(*number) : Value();
}
Value value_of(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

Tag tag_of(const Row& row) {
  return {.name = row.text(0),
          .next_id = row.integer(1),
          .step = row.integer(2),
          .start = row.integer_or_null(3),
          .limit = row.integer_or_null(4),
          .description = row.text(5),
          .updated_at = std::chrono::system_clock::time_point(milliseconds(row.integer(6))),
          .incarnation = row.text(7)};
}

/// The grant in a row, or nothing where the row says that it might not last.
Grant grant_of(const Row& row) {
  if (row.integer(5) != 1) {
    throw Error(ErrorCode::refused, "the store does not commit durably: 'synchronous_commit' is off",
                "set synchronous_commit = on for this role, or take it out of PGOPTIONS");
  }
  Grant grant{.range = {row.integer(0), row.integer(1)},
              .step = row.integer(2),
              .limit = row.integer(3),
              .incarnation = row.text(4)};
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

Error no_such_tag(const TagName& name) {
  return {ErrorCode::not_found, fmt::format("tag '{}' does not exist", name.str()),
          fmt::format("create it with 'leafctl add-tag {}'", name.str())};
}

std::string shown(std::optional<std::int64_t> number) {
  return number ? std::to_string(*number) : "none";
}

/// Throws if `existing` is not what `wanted` asks for.
void require_same(const Tag& existing, const NewTag& wanted) {
  const auto refuse = [&](const char* what, const std::string& has, const std::string& asked) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' exists with {} {}, not {}", existing.name, what, has, asked),
                fmt::format("change it with 'leafctl tags update {}'", existing.name));
  };
  if (wanted.step && *wanted.step != existing.step) {
    refuse("step", std::to_string(existing.step), std::to_string(*wanted.step));
  }
  if (wanted.limit && wanted.limit != existing.limit)
    refuse("limit", shown(existing.limit), shown(wanted.limit));
  if (wanted.description && *wanted.description != existing.description) {
    refuse("description", fmt::format("'{}'", existing.description),
           fmt::format("'{}'", *wanted.description));
  }
  if (!wanted.start || wanted.start == existing.start) return;
  if (*wanted.start < existing.next_id) {
    throw Error(ErrorCode::failed, fmt::format("tag '{}' has given out IDs up to {}: it cannot start at {}",
                                               existing.name, existing.next_id - 1, *wanted.start));
  }
  throw Error(
      ErrorCode::failed,
      fmt::format("tag '{}' exists with start {}, not {}", existing.name, shown(existing.start),
                  *wanted.start),
      fmt::format("raise it with 'leafctl tags update {} --raise-to {}'", existing.name, *wanted.start));
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(StoreOptions options)
      : url_(store::parse_url(options.url)), timeout_(options.timeout), clock_(*options.clock) {
    if (timeout_ <= milliseconds::zero())
      throw Error(ErrorCode::usage, "the store's timeout is not above zero");
  }

  /// Runs `work(connection, time left)` until it succeeds or trying again is no use.
  template <typename Work>
  auto attempt(store::IfMissing if_missing, bool check_schema, Work work) {
    store::Attempts attempts(clock_, timeout_);
    for (;;) {
      try {
        connect(if_missing, check_schema, attempts);
        return work(*connection_, attempts.time_left());
      } catch (const Error& error) {
        if (connection_ && !connection_->usable()) connection_.reset();
        attempts.wait_after(error);
      }
    }
  }

  std::vector<Row> execute(const char* store::Sql::*statement, std::vector<Value> parameters) {
    return attempt(store::IfMissing::fail, true, [&](Connection& connection, milliseconds left) {
      return connection.execute(connection.sql().*statement, parameters, left);
    });
  }

  /// Both kinds of grant; the reason is looked up where no row came back.
  Grant grant(const char* store::Sql::*statement, const TagName& name, std::int64_t count) {
    return attempt(store::IfMissing::fail, true, [&](Connection& connection, milliseconds left) {
      const std::vector<Value> parameters{name.str(), count};
      const auto rows = connection.execute(connection.sql().*statement, parameters, left);
      if (!rows.empty()) return grant_of(rows[0]);
      const Value tag = name.str();
      const auto found = connection.execute(connection.sql().tag, {&tag, 1}, left);
      if (found.empty()) throw no_such_tag(name);
      throw exhausted(tag_of(found[0]));
    });
  }

  const store::Driver& driver() { return store::driver(url_.driver); }

 private:
  void connect(store::IfMissing if_missing, bool check_schema, store::Attempts& attempts) {
    if (!connection_) {
      schema_checked_ = false;
      connection_ = driver().connect(url_.target, if_missing, attempts.time_left());
    }
    if (check_schema && !schema_checked_) {
      store::require_current(store::read_schema(*connection_, attempts.time_left()), driver().migrations);
      schema_checked_ = true;
    }
  }

  static Error exhausted(const Tag& tag) {
    const std::int64_t limit = tag.limit.value_or(max_id);
    return {ErrorCode::exhausted,
            fmt::format("tag '{}' has {} IDs left below its limit {}", tag.name,
                        tag.next_id > limit ? 0 : limit - tag.next_id + 1, limit),
            tag.limit ? fmt::format("raise it with 'leafctl tags update {} --limit ID'", tag.name) : ""};
  }

  store::Url url_;
  milliseconds timeout_;
  Clock& clock_;
  std::unique_ptr<Connection> connection_;
  bool schema_checked_ = false;
};

Store::Store(StoreOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

std::vector<Migration> Store::migrate() {
  return impl_->attempt(store::IfMissing::create, false, [&](Connection& connection, milliseconds left) {
    return store::migrate(connection, impl_->driver().migrations, left);
  });
}

std::vector<Migration> Store::pending_migrations() {
  return impl_->attempt(store::IfMissing::fail, false, [&](Connection& connection, milliseconds left) {
    return store::pending(store::read_schema(connection, left).version, impl_->driver().migrations);
  });
}

std::string Store::migration_script() {
  return impl_->attempt(store::IfMissing::fail, false, [&](Connection& connection, milliseconds left) {
    return store::script(connection.sql(), store::pending(store::read_schema(connection, left).version,
                                                          impl_->driver().migrations));
  });
}

std::string Store::deployment() {
  return impl_->attempt(store::IfMissing::fail, true, [&](Connection& connection, milliseconds left) {
    return store::read_schema(connection, left).deployment;
  });
}

Tag Store::add_tag(const NewTag& tag) {
  require_between("step", tag.step, 1, max_step);
  require_between("start", tag.start, 0, max_id);
  require_between("limit", tag.limit, tag.start.value_or(1), max_id);
  require_description(tag.description);
  const auto added = impl_->execute(&store::Sql::add_tag,
                                    {tag.name.str(), tag.step.value_or(default_step), value_of(tag.start),
                                     value_of(tag.limit), value_of(tag.description)});
  if (!added.empty()) return tag_of(added[0]);
  const auto existing = impl_->execute(&store::Sql::tag, {tag.name.str()});
  if (!existing.empty()) {
    const Tag found = tag_of(existing[0]);
    require_same(found, tag);
    return found;
  }
  const auto removed = impl_->execute(&store::Sql::removed_tag, {tag.name.str()});
  if (removed.empty()) {
    throw Error(ErrorCode::unavailable,
                fmt::format("tag '{}' was changed by somebody else meanwhile", tag.name.str()));
  }
  throw Error(ErrorCode::failed,
              fmt::format("tag '{}' was removed after it had given out IDs up to {}", tag.name.str(),
                          removed[0].integer(0) - 1),
              "leave --start out to go on from there, and choose a limit above it");
}

std::vector<Tag> Store::tags() {
  std::vector<Tag> tags;
  for (const Row& row : impl_->execute(&store::Sql::tags, {})) tags.push_back(tag_of(row));
  std::sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) { return a.name < b.name; });
  return tags;
}

Tag Store::tag(const TagName& name) {
  const auto rows = impl_->execute(&store::Sql::tag, {name.str()});
  if (rows.empty()) throw no_such_tag(name);
  return tag_of(rows[0]);
}

Tag Store::update_tag(const TagName& name, const TagChange& change) {
  require_between("step", change.step, 1, max_step);
  require_between("limit", change.limit, 0, max_id);
  require_between("raise-to", change.raise_to, 0, max_id);
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
  if (impl_->execute(&store::Sql::remove_tag, {name.str()}).empty()) throw no_such_tag(name);
}

Grant Store::grant(const TagName& name, std::int64_t count) {
  require_between("the number of IDs", count, 1, max_id);
  return impl_->grant(&store::Sql::grant_exactly, name, count);
}

Grant Store::grant_segment(const TagName& name, std::int64_t wish) {
  require_between("the segment's size", wish, 0, max_step);
  return impl_->grant(&store::Sql::grant_segment, name, wish);
}

}  // namespace leaf
