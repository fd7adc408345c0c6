#include "ids/layout_options.hpp"

#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

std::string layout_help(std::string_view otherwise) {
  std::string names;
  for (const auto& known : leaf::known_layouts()) names += fmt::format("{}, ", known.name);
  return fmt::format("how IDs are divided: {}NAME:WIDTHS or FIELD:BITS,.../UNIT@EPOCH (default: {})", names,
                     otherwise);
}

}  // namespace

void LayoutOptions::declare(Declaration& command, std::string_view otherwise) {
  command.add_text_option("--layout", "LAYOUT", layout_, layout_help(otherwise));
  command.add_text_option(
      "--bits", "WIDTHS", bits_,
      "instead of a layout: the bits of time, worker and sequence, or fields by name such as "
      "time:39,sequence:8,machine:16");
  command.add_text_option("--unit", "DURATION", unit_, "unit of the time, 1ms to 1h (default: the layout's)");
  command.add_text_option("--epoch", "TIME", epoch_, "when the time begins (default: the layout's)");
}

leaf::Layout LayoutOptions::layout(const Settings& settings) const {
  if (layout_ && bits_) {
    throw leaf::Error(leaf::ErrorCode::usage, "'--layout' and '--bits' exclude each other",
                      "a known layout in other widths is written as in '--layout baidu:29+21+13'"_hint);
  }
  const auto layout = layout_           ? leaf::Layout::parse(*layout_)
                      : bits_           ? leaf::Layout::parse(*bits_)
                      : settings.layout ? *settings.layout
                                        : leaf::Layout::parse("leaf");
  if (!unit_ && !epoch_) return layout;
  const std::string text = layout.text();
  const auto slash = text.find('/');
  const auto at = text.find('@');
  const std::string unit = unit_ ? *unit_ : text.substr(slash + 1, at - slash - 1);
  const auto epoch = epoch_ ? parse_date("--epoch", *epoch_) : layout.epoch();
  return leaf::Layout::parse(
      fmt::format("{}/{}@{}", text.substr(0, slash), unit, epoch.time_since_epoch().count()));
}

}  // namespace leafctl
