#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doctor/supply_checks.hpp"
#include "leaf/detail/supply_text.hpp"
#include "tags/tag_command.hpp"
#include "tags/tag_supply.hpp"
#include "text/hint.hpp"
#include "text/rough_duration.hpp"

namespace leafctl {

namespace {

using leaf::Tag;

constexpr double day_s = 86'400;
constexpr double year_s = 365.2425 * day_s;
/// A tag that lasts no longer is to be seen to.
constexpr double soon_s = 30 * day_s;

std::string lasting(double seconds) {
  constexpr double longest_years = 100;
  if (seconds > longest_years * year_s) return "more than 100 years";
  if (seconds > 2 * year_s) return fmt::format("about {:.0f} years", seconds / year_s);
  return "about " + rough_duration(std::chrono::milliseconds(std::llround(seconds * 1000)));
}

std::string raise_command(const Tag& tag) {
  return fmt::format("'leafctl tags update {}'", tag_arguments(tag.name, "--limit ID"));
}

Measures measures_of(const TagOutlook& outlook) {
  Measures measures{{"ids_left", outlook.ids.left}};
  if (outlook.seconds) measures.push_back({"seconds_left", *outlook.seconds});
  return measures;
}

std::optional<Check> check_limit(const Tag& tag, const TagOutlook& outlook) {
  const auto& [ids, duration] = outlook;
  const std::int64_t left = ids.left;
  const bool lasts = left > 0 && (!duration || *duration > soon_s);
  if (lasts && !ids.is_low()) return std::nullopt;
  std::string seen = leaf::detail::supply_text(tag.name, ids);
  if (left > 0 && duration) seen += fmt::format(", for {} at this host's pace", lasting(*duration));
  return Check{"tags",
               left > 0 ? CheckState::warning : CheckState::failed,
               seen,
               ids.limit < leaf::max_id
                   ? "raise it with "_hint + raise_command(tag) + ", or lift it with --limit none"
                   : "go on with another tag: no ID is greater"_hint,
               tag.name,
               measures_of(outlook)};
}

/// As from a table that was made for Leaf, which takes any.
Check check_name(const Tag& tag) {
  return {
      "tags", CheckState::warning,
      fmt::format("tag '{}' has a name that is refused here: only Leaf draws from it", tag.name),
      "once nothing draws from it, add another with 'leafctl add-tag TAG --start ID' and an ID above all that it gave"_hint,
      tag.name};
}

std::string names_of(const std::vector<Tag>& tags) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const Tag& tag : tags) {
    if (names.size() == most) {
      names.push_back(fmt::format("{} more", tags.size() - most));
      break;
    }
    names.push_back("'" + tag.name + "'");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Tells of the tags whose IDs are above `below`, up to `up_to`.
void tell_of_width(Checks& checks, const std::vector<Tag>& tags, std::int64_t below, std::int64_t up_to,
                   const char* what) {
  std::vector<Tag> wide;
  std::ranges::copy_if(tags, std::back_inserter(wide),
                       [&](const Tag& tag) { return tag.next_id > below && tag.next_id <= up_to; });
  if (!wide.empty())
    checks.push_back({"tags", CheckState::ok, fmt::format("IDs {}: of {}", what, names_of(wide))});
}

}  // namespace

Checks tag_checks(const std::vector<Tag>& tags, const std::vector<TagOnHost>& on_host) {
  Checks checks;
  const Tag* shortest = nullptr;
  TagOutlook shortest_outlook;
  for (const Tag& tag : tags) {
    if (!leaf::TagName::is_valid(tag.name)) {
      checks.push_back(check_name(tag));
      continue;
    }
    const TagOutlook outlook = outlook_of(tag, on_host);
    if (auto check = check_limit(tag, outlook)) checks.push_back(std::move(*check));
    if (outlook.seconds && (shortest == nullptr || *outlook.seconds < *shortest_outlook.seconds)) {
      shortest = &tag;
      shortest_outlook = outlook;
    }
  }
  if (checks.empty()) {
    std::string seen = tags.empty()       ? "none yet: 'leafctl add-tag TAG' adds one"
                       : tags.size() == 1 ? "1 tag, not near its limit"
                                          : fmt::format("{} tags, none near its limit", tags.size());
    if (shortest != nullptr) {
      seen += fmt::format("; at this host's pace '{}' lasts {}", shortest->name,
                          lasting(*shortest_outlook.seconds));
    }
    Measures measures{{"tags", static_cast<std::int64_t>(tags.size())}};
    if (shortest != nullptr) measures.push_back({"seconds_left", *shortest_outlook.seconds});
    checks.push_back({.name = "tags", .detail = seen, .measures = std::move(measures)});
  }
  constexpr std::int64_t greatest_32_bit = (std::int64_t{1} << 31) - 1;
  constexpr std::int64_t greatest_in_javascript = (std::int64_t{1} << 53) - 1;
  tell_of_width(checks, tags, greatest_32_bit, greatest_in_javascript,
                "past 2^31, too large for 32-bit columns");
  tell_of_width(checks, tags, greatest_in_javascript, leaf::max_id + 1,
                "past 2^53, which JavaScript keeps only as strings");
  return checks;
}

}  // namespace leafctl
