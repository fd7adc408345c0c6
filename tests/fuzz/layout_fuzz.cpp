// Any text for a layout: what is one is written back alike, and takes every ID apart so that it can be put
// together again.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/error.hpp"
#include "leaf/layout.hpp"

namespace {

using leaf::Layout;
using leaf::fuzz::Choices;
using leaf::fuzz::require;
using std::chrono::milliseconds;

std::optional<Layout> parse(const std::string& text) {
  try {
    return Layout::parse(text);
  } catch (const leaf::Error& error) {
    require(error.code() == leaf::ErrorCode::usage && *error.what() != '\0',
            "what is no layout is a mistake of the user's", text);
    return std::nullopt;
  }
}

/// What the class promises of any layout.
void check_fields(const Layout& layout, const std::string& text) {
  int shift = 0;
  std::size_t times = 0, sequences = 0;
  for (std::size_t i = layout.fields().size(); i-- > 0;) {
    const leaf::LayoutField& field = layout.fields()[i];
    require(field.bits() >= 1 && field.shift() == shift, "fields fill the ID from its lowest bit on", text);
    shift += field.bits();
    times += field.role() == leaf::LayoutField::Role::time ? 1 : 0;
    sequences += field.role() == leaf::LayoutField::Role::sequence ? 1 : 0;
    require(layout.field(field.name()) == &field, "a field is found by its name", text);
  }
  require(shift <= Layout::usable_bits && times == 1 && sequences <= 1,
          "one time, at most one sequence, 63 bits", text);
  require(layout.unit() >= milliseconds(1) && layout.unit() <= std::chrono::hours(1),
          "a unit from 1 ms to 1 h", text);
  require(layout.max_ticks() >= 0 && layout.last_time() >= layout.epoch(),
          "time does not end before it begins", text);
}

void check_id(const Layout& layout, std::int64_t id, const std::string& text) {
  if (!layout.holds(id)) {
    try {
      layout.decompose(id);
    } catch (const leaf::Error&) {
      return;
    }
    leaf::fuzz::complain("an ID that the layout does not hold is not taken apart", text);
  }
  const leaf::DecodedId parts = layout.decompose(id);
  require(layout.compose(parts.time, parts.worker, parts.sequence) == id, "an ID is put together again",
          text);
  require(parts.time >= layout.epoch() && parts.time <= layout.last_time(), "its time is one of the layout's",
          text);
  require(parts.worker >= 0 && parts.worker <= layout.max_worker(), "its worker is one of the layout's",
          text);
  require(layout.first_id(parts.time) <= id && id <= layout.last_id(parts.time),
          "it lies among those of its time", text);
}

void check_bounds(const Layout& layout, leaf::UnixTime from, leaf::UnixTime to, const std::string& text) {
  try {
    const leaf::IdBounds bounds = layout.bounds(from, to);
    require(bounds.first <= bounds.last && layout.holds(bounds.first) && layout.holds(bounds.last),
            "bounds are IDs", text);
    require(layout.time_of(bounds.first) >= from && layout.time_of(bounds.last) < to, "bounds are within",
            text);
    if (layout.holds(bounds.first - 1))
      require(layout.time_of(bounds.first - 1) < from, "the ID before them is of an earlier time", text);
    if (layout.holds(bounds.last + 1))
      require(layout.time_of(bounds.last + 1) >= to, "the ID after them is of a later time", text);
  } catch (const leaf::Error& error) {
    require(error.code() == leaf::ErrorCode::usage || error.code() == leaf::ErrorCode::exhausted,
            "no bounds for a reason", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::int64_t id = choices.number(), from = choices.number(), length = choices.number();
  const std::string text(choices.rest());
  const auto layout = parse(text);
  if (!layout) return 0;
  check_fields(*layout, text);
  require(parse(layout->text()) == layout && parse(layout->name()) == layout,
          "its text and name are of the same layout", text);
  require(parse(layout->text())->text() == layout->text(), "there is one text of a layout", text);
  for (const std::int64_t each : {id, from, layout->last_id(layout->last_time()), std::int64_t{0}})
    check_id(*layout, each, text);
  // Within what Unix milliseconds can be added up to.
  constexpr std::int64_t most = std::int64_t{1} << 60;
  const leaf::UnixTime begin{milliseconds(std::clamp(from, -most, most))};
  check_bounds(*layout, begin, begin + milliseconds(std::clamp(length, -most, most)), text);
  return 0;
}
