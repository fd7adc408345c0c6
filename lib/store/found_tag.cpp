#include "store/found_tag.hpp"

#include <chrono>
#include <utility>

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

std::optional<UnixTime> time_of(std::optional<std::int64_t> unix_ms) {
  if (!unix_ms) return std::nullopt;
  return UnixTime(milliseconds(*unix_ms));
}

}  // namespace

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

FoundTag found_in(const Row& row) {
  Tag tag = tag_of(row);
  if (row.integer(9) == 1) return {.is_known = true, .end_of_removed = tag.next_id};
  return {.is_known = true, .tag = std::move(tag)};
}

FoundTag found_in(const std::vector<Row>& rows) {
  return rows.empty() || rows[0].is_null(0) ? FoundTag() : found_in(rows[0]);
}

}  // namespace leaf::store
