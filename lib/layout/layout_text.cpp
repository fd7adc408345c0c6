#include "layout/layout_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leaf/detail/nearest.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::pair<std::string_view, milliseconds>, 4> units{{
    {"h", std::chrono::hours(1)},
    {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},
    {"ms", milliseconds(1)},
}};

const KnownLayout* find_known(std::string_view name) {
  const auto all = known_layouts();
  const auto found = std::ranges::find(all, name, &KnownLayout::name);
  return found == all.end() ? nullptr : &*found;
}

std::string ways_to_name_one() {
  std::string names;
  for (const auto& layout : known_layouts()) names += fmt::format("{}, ", layout.name);
  return fmt::format("use {}or a form such as '{}'"_hint, names, known_layouts().front().text);
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorCode::usage, fmt::format("'{}' is not a layout: {}", text, why), ways_to_name_one());
}

[[noreturn]] void refuse_unknown(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& layout : known_layouts()) names.emplace_back(layout.name);
  const std::string near = detail::nearest(text, names);
  throw Error(ErrorCode::usage, fmt::format("unknown layout '{}'", text),
              near.empty() ? ways_to_name_one() : fmt::format("did you mean '{}'?"_hint, near));
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.starts_with('-')) return std::nullopt;
  return number;
}

std::optional<milliseconds> to_unit(std::string_view text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = to_number(text.substr(0, digits));
  const auto found = std::ranges::find(units, text.substr(digits), &decltype(units)::value_type::first);
  if (!number || found == units.end() || *number > std::chrono::hours(1) / milliseconds(1))
    return std::nullopt;
  return *number * found->second;
}

// The parts of a layout's text: `FIELDS/UNIT@EPOCH`, the last two in any order.
struct Parts {
  std::string_view fields;
  std::optional<milliseconds> unit;
  std::optional<UnixTime> epoch;
};

Parts split(std::string_view text) {
  Parts parts;
  auto begin = std::min(text.find_first_of("/@"), text.size());
  parts.fields = text.substr(0, begin);
  while (begin < text.size()) {
    const auto end = std::min(text.find_first_of("/@", begin + 1), text.size());
    const auto value = text.substr(begin + 1, end - begin - 1);
    if (text[begin] == '/') {
      if (parts.unit) refuse(text, "it has two units");
      parts.unit = to_unit(value);
      if (!parts.unit) refuse(text, fmt::format("'{}' is not a unit of time from 1ms to 1h", value));
    } else {
      if (parts.epoch) refuse(text, "it has two epochs");
      const auto epoch = to_number(value);
      if (!epoch) refuse(text, fmt::format("the epoch '{}' is not a number of Unix milliseconds", value));
      parts.epoch = UnixTime(milliseconds(*epoch));
    }
    begin = end;
  }
  return parts;
}

// Fields by name and bits; the name is empty where none is given.
std::vector<FieldWidth> split_fields(std::string_view list, std::string_view text) {
  std::vector<FieldWidth> fields;
  while (true) {
    const auto end = std::min(list.find_first_of(",+"), list.size());
    const auto field = list.substr(0, end);
    const auto colon = field.find(':');
    const auto name = colon == field.npos ? std::string_view{} : field.substr(0, colon);
    const auto bits = colon == field.npos ? field : field.substr(colon + 1);
    const auto number = to_number(bits);
    if (!number || *number < 1 || *number > Layout::usable_bits) {
      refuse(text, fmt::format("'{}' is not a number of bits from 1 to {}", bits, Layout::usable_bits));
    }
    if (colon == 0) refuse(text, fmt::format("'{}' lacks the name of the field", field));
    fields.push_back({name, static_cast<int>(*number)});
    if (end == list.size()) return fields;
    list.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> usual_names(std::size_t count) {
  switch (count) {
    case 2:
      return {"time", "sequence"};
    case 3:
      return {"time", "worker", "sequence"};
    case 4:
      return {"time", "datacenter", "worker", "sequence"};
    default:
      return {};
  }
}

// Gives names to fields that have none.
void name_fields(std::vector<FieldWidth>& fields, std::span<const std::string_view> names,
                 std::string_view text) {
  if (!std::ranges::all_of(fields, &std::string_view::empty, &FieldWidth::name)) {
    refuse(text, "some of its fields go without names and some have one");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].name = names[i];
}

// Fields by name and bits, or by bits alone in the order that is usual for so many.
std::vector<FieldWidth> read_fields(std::string_view list, std::string_view text) {
  auto fields = split_fields(list, text);
  if (std::ranges::any_of(fields, &std::string_view::empty, &FieldWidth::name)) {
    const auto names = usual_names(fields.size());
    if (names.empty()) refuse(text, "only 2, 3 or 4 fields go without names");
    name_fields(fields, names, text);
  }
  return fields;
}

// The fields of a known layout in other widths.
std::vector<FieldWidth> resize_fields(const std::vector<FieldWidth>& known, std::string_view list,
                                      std::string_view text) {
  auto fields = split_fields(list, text);
  if (fields.size() != known.size()) {
    refuse(text, fmt::format("the named layout has {} fields, not '{}'", known.size(), fields.size()));
  }
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto& field : known) names.push_back(field.name);
  name_fields(fields, names, text);
  return fields;
}

}  // namespace

Layout Layout::parse(std::string_view text) {
  const auto parts = split(text);
  const auto colon = std::min(parts.fields.find(':'), parts.fields.size());
  const auto* known = find_known(parts.fields.substr(0, colon));
  if (known == nullptr && parts.fields.find_first_of("0123456789") == std::string_view::npos) {
    refuse_unknown(text);
  }
  const auto base = split((known != nullptr ? *known : known_layouts().front()).text);
  auto fields = read_fields(known != nullptr ? base.fields : parts.fields, text);
  if (known != nullptr && colon < parts.fields.size()) {
    fields = resize_fields(fields, parts.fields.substr(colon + 1), text);
  }
  return Layout(fields, parts.unit.value_or(*base.unit), parts.epoch.value_or(*base.epoch));
}

std::string Layout::text() const {
  std::string text;
  for (const auto& field : fields()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", field.name(), field.bits());
  }
  return text + fmt::format("/{}@{}", unit_text(unit_), epoch_.time_since_epoch().count());
}

std::string Layout::name() const {
  auto own = text();
  const auto all = known_layouts();
  const auto found = std::ranges::find(all, own, &KnownLayout::text);
  return found == all.end() ? own : std::string(found->name);
}

std::string to_rfc3339(UnixTime time) {
  return detail::format_rfc3339(time);
}

std::string unit_text(milliseconds unit) {
  const auto fitting = [&](const auto& named) { return unit % named.second == milliseconds(0); };
  const auto& [name, length] = *std::ranges::find_if(units, fitting);
  return fmt::format("{}{}", unit / length, name);
}

}  // namespace leaf
