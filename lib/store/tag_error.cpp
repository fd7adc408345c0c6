#include "store/tag_error.hpp"

#include <fmt/format.h>

#include "leaf/detail/supply_text.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store {

Error gone_back(const TagName& name, std::int64_t mark) {
  return {
      ErrorCode::refused,
      fmt::format("the store has granted IDs of tag '{}' before, up to {}: it was restored from a backup, or "
                  "an old standby took over",
                  name.str(), mark - 1),
      advice(
          "raise it to {}{}; if a check of the store{} names a higher number on another host, as "
          "another user, or for another runtime folder, use that one: what others have buffered counts too"_hint,
          mark, Remedy{.kind = Remedy::Kind::raise_tag, .name = name.str(), .number = mark},
          Remedy{Remedy::Kind::check_store})};
}

Error lost_tag(ErrorCode code, const TagName& name, std::int64_t mark) {
  return {code,
          fmt::format("tag '{}' does not exist, but IDs of it were granted before, up to {}: the store was "
                      "restored from a backup, or an old standby took over",
                      name.str(), mark - 1),
          advice("add it to go on from {}{}, or from a higher number that a look at the "
                 "tag{} names on another host, as another user, or for another runtime folder; if it had a "
                 "limit, set that again"_hint,
                 mark, Remedy{.kind = Remedy::Kind::add_tag, .name = name.str(), .number = mark},
                 Remedy{.kind = Remedy::Kind::look_at_tag, .name = name.str()})};
}

Error changed_meanwhile(const TagName& tag) {
  // With a state that is tried again.
  return {
      ErrorCode::unavailable, fmt::format("tag '{}' was changed by somebody else meanwhile", tag.str()),
      "try again; if that does not help, a trigger on table leaf_alloc keeps changes away: drop the one that "
      "is not the store's"_hint,
      "40001"};
}

Error too_few_left(const Tag& tag, std::uint64_t buffered) {
  const TagSupply supply = supply_of(tag, buffered);
  return {ErrorCode::exhausted, detail::supply_text(tag.name, supply),
          supply.limit < max_id
              ? advice("raise it{}"_hint, Remedy{.kind = Remedy::Kind::change_limit, .name = tag.name})
              : "go on with another tag: no ID is greater"_hint};
}

}  // namespace leaf::store
