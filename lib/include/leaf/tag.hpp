#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leaf/export.hpp"
#include "leaf/layout.hpp"

namespace leaf {

/// The greatest step of a tag, and the greatest one that an allocator grows to. Leaf's MAX_STEP.
inline constexpr std::int64_t max_step = 1'000'000;
/// The longest segment that can be asked for.
inline constexpr std::int64_t max_segment = std::int64_t{1} << 31;
/// The step of a tag that is added without one.
inline constexpr std::int64_t default_step = 1'000;
/// The longest description of a tag, in characters.
inline constexpr std::size_t max_description = 256;
/// The greatest ID: the store's counter, which is one ahead, has to fit in 63 bits.
inline constexpr std::int64_t max_id = 9'223'372'036'854'775'806;
/// The next ID of a tag that has given out max_id: its counter stays there.
inline constexpr std::int64_t past_max_id = max_id + 1;

/// The name of a business tag: 1 to 128 characters of `A-Z a-z 0-9 . _ : -`.
class LEAF_EXPORT TagName {
 public:
  /// Throws Error (usage) that names the first thing wrong.
  explicit TagName(std::string_view name);
  static bool is_valid(std::string_view name) noexcept;

  const std::string& str() const noexcept { return name_; }
  friend auto operator<=>(const TagName&, const TagName&) = default;

 private:
  std::string name_;
};

/// One tag as the store has it.
struct Tag {
  std::string name;          ///< as stored; a table that Leaf made may hold names that TagName refuses
  std::int64_t next_id = 0;  ///< the first ID that has not been granted (column `max_id`)
  std::int64_t step = 0;     ///< IDs in a segment
  std::optional<std::int64_t> start{};  ///< the first ID ever; absent for a tag that was taken over
  std::optional<std::int64_t> limit{};  ///< the last ID that may be granted; absent for max_id
  std::string description{};
  UnixTime updated_at;                   ///< when it was last added or changed
  std::optional<UnixTime> granted_at{};  ///< when IDs were last granted, if ever
  std::string incarnation;               ///< a UUID; a new one after the tag was removed and added again
  /// If it is added again, it goes on from `next_id`; its limit and description no longer apply.
  bool is_removed = false;
};

/// A tag whose IDs were granted to this host, while the store has no row for it, not even a tombstone.
struct LostTag {
  TagName name;
  std::int64_t granted_end = 0;  ///< all IDs before are known to be granted
};

/// How many IDs of a tag there are.
struct TagSupply {
  std::int64_t first = 1;       ///< the first ID that it ever had; 1 where that is not known
  std::int64_t limit = max_id;  ///< the last one that it may give
  std::int64_t left = 0;        ///< those that are left

  /// True if no more than a tenth of them all is left.
  bool is_low() const noexcept { return left <= (limit - first + 1) / 10; }
};

/// The supply of a tag from `first` to `limit` whose IDs below `next_id` were granted, `buffered` of which
/// nobody has used yet.
LEAF_EXPORT TagSupply supply_of(std::int64_t first, std::int64_t limit, std::int64_t next_id,
                                std::uint64_t buffered = 0) noexcept;
/// The same of a tag as the store has it.
LEAF_EXPORT TagSupply supply_of(const Tag& tag, std::uint64_t buffered = 0) noexcept;

/// What `Store::add_tag` is asked for. What is absent takes its default, and is not compared with an existing
/// tag.
struct NewTag {
  TagName name;
  std::optional<std::int64_t> step{};        ///< 1 to max_step; default_step
  std::optional<std::int64_t> start{};       ///< the first ID, 0 to past_max_id, which leaves none; 1
  std::optional<std::int64_t> limit{};       ///< the last ID, start to max_id; none
  std::optional<std::string> description{};  ///< up to max_description characters
  /// If a removed tag of this name has passed `start`, it goes on where it ended. `limit` may then be just
  /// below that: all IDs are used up.
  bool or_later = false;
};

/// What `Store::update_tag` changes; what is absent stays.
struct TagChange {
  std::optional<std::int64_t> step{};   ///< 1 to max_step
  std::optional<std::int64_t> limit{};  ///< not below what was granted
  bool remove_limit = false;
  std::optional<std::string> description{};
  /// Raises the next ID to this, and never lowers it; past_max_id leaves none.
  std::optional<std::int64_t> raise_to{};
};

}  // namespace leaf
