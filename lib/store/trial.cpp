#include "store/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/tag.hpp"
#include "store/found_tag.hpp"
#include "store/unix_time.hpp"
#include "store/uuid.hpp"
#include "store/worker_range.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

/// What `attempt` is refused for, or takes too long for.
template <class Attempt>
std::optional<Error> refusal(Connection& connection, Attempt attempt) {
  for (int tries_left = 3;; --tries_left) {
    try {
      attempt();
      return std::nullopt;
    } catch (const Error& error) {
      // Other checks tell whether a commit would last.
      if (error.sqlstate() == sqlstate::not_durable) return std::nullopt;
      if (error.sqlstate() == sqlstate::timed_out) return error;
      if (!error.retryable()) return error;
      if (!connection.usable()) throw;
      if (tries_left == 1) return error;  // before, another transaction may have been in the way
    }
  }
}

Error discarded(const char* table) {
  return {ErrorCode::refused, fmt::format("a trigger discards changes to table {}", table),
          fmt::format("drop the trigger on table {} whose name does not begin with 'leaf_'"_hint, table)};
}

/// The tags with IDs left, at most `count`, the ones that were granted last first.
std::vector<Tag> tags_in_use(Connection& connection, std::size_t count, milliseconds timeout) {
  std::vector<Tag> tags;
  for (const Row& row : connection.execute(connection.sql().tags, {}, timeout)) {
    Tag tag = tag_of(row);
    if (tag.next_id <= tag.limit.value_or(max_id)) tags.push_back(std::move(tag));
  }
  const auto end = tags.begin() + static_cast<std::ptrdiff_t>(std::min(count, tags.size()));
  std::ranges::partial_sort(tags, end, std::greater(), &Tag::granted_at);
  tags.erase(end, tags.end());
  return tags;
}

/// Throws what a grant of `tag` would.
void try_grant(Connection& connection, const Tag& tag, milliseconds timeout) {
  const Value grant[] = {tag.name, std::int64_t{0}, std::int64_t{0}};
  const auto granted = connection.try_out(connection.sql().grant_segment, grant, timeout);
  constexpr std::int64_t old_row = 7;
  if (granted.size() == 1 && (granted[0].integer(5) == old_row || granted[0].integer(0) < tag.next_id))
    throw put_back();
  if (!granted.empty()) return;
  const Value name[] = {tag.name};
  const FoundTag found = found_in(connection.execute(connection.sql().tag, name, timeout));
  if (found.tag && found.tag->next_id <= found.tag->limit.value_or(max_id)) throw discarded("leaf_alloc");
}

/// Throws what the lease of a worker that nobody has had would.
void try_new_worker(Connection& connection, UnixTime now, milliseconds timeout) {
  constexpr milliseconds window = std::chrono::minutes(1);
  constexpr std::int64_t any_time = std::numeric_limits<std::int64_t>::max();
  const Layout layout = pool_of(connection.execute(connection.sql().layout, {}, timeout)).layout;
  const Value lease[] = {new_uuid(),  // nobody has that name
                         new_uuid(),
                         std::max(window, layout.unit()).count(),
                         std::int64_t{0},
                         unix_ms(now),
                         last_leasable(layout),
                         std::int64_t{0},
                         any_time,
                         any_time,
                         unix_ms(layout.epoch()),
                         unix_ms(layout.last_time())};
  connection.try_out(connection.sql().acquire_new, lease, timeout);
}

/// Throws what the next lease of a worker that somebody has had would.
void try_known_worker(Connection& connection, UnixTime now, milliseconds timeout) {
  const Value time[] = {unix_ms(now)};
  const auto touched = connection.try_out(connection.sql().touch_worker, time, timeout);
  if (touched.size() == 1 && touched[0].integer(1) == 0) throw put_back();
  if (!touched.empty()) return;
  if (connection.execute(connection.sql().workers, time, timeout).empty()) return;
  throw discarded("leaf_worker");
}

}  // namespace

std::optional<RefusedTrial> try_grants(Connection& connection, milliseconds timeout) {
  constexpr std::size_t enough = 20;
  for (const Tag& tag : tags_in_use(connection, enough, timeout)) {
    if (auto error = refusal(connection, [&] { try_grant(connection, tag, timeout); }))
      return RefusedTrial{tag.name, *error};
    if (!connection.usable()) break;
  }
  return std::nullopt;
}

std::optional<RefusedTrial> try_lease(Connection& connection, UnixTime now, milliseconds timeout) {
  auto error = refusal(connection, [&] { try_new_worker(connection, now, timeout); });
  if (!error && connection.usable())
    error = refusal(connection, [&] { try_known_worker(connection, now, timeout); });
  return error ? std::optional(RefusedTrial{{}, *error}) : std::nullopt;
}

}  // namespace leaf::store
