#include "layout_options.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "options.hpp"
#include "time_text.hpp"

namespace leafctl {

namespace {

std::string layout_help() {
  std::string names;
  for (const auto& known : leaf::known_layouts()) names += fmt::format("{}, ", known.name);
  return fmt::format("how IDs are divided: {}NAME:WIDTHS or FIELD:BITS,.../UNIT@EPOCH (default: leaf)",
                     names);
}

}  // namespace

void LayoutOptions::declare(CLI::App& app) {
  add_text_option(app, "--layout", "LAYOUT", layout_, layout_help());
  add_text_option(app, "--bits", "WIDTHS", bits_,
                  "instead of a layout: the bits of time, worker and sequence, or fields by name such as "
                  "time:39,sequence:8,machine:16");
  add_text_option(app, "--unit", "DURATION", unit_, "unit of the time, 1ms to 1h (default: the layout's)");
  add_text_option(app, "--epoch", "TIME", epoch_, "when the time begins (default: the layout's)");
}

leaf::Layout LayoutOptions::layout() const {
  if (layout_ && bits_) {
    throw leaf::Error(leaf::ErrorCode::usage, "'--layout' and '--bits' exclude each other",
                      "a known layout in other widths is written as in '--layout baidu:29+21+13'");
  }
  std::string text = layout_ ? *layout_ : bits_.value_or("leaf");
  if (unit_) text += "/" + *unit_;
  if (epoch_) text += fmt::format("@{}", parse_date("--epoch", *epoch_).time_since_epoch().count());
  return leaf::Layout::parse(text);
}

}  // namespace leafctl
