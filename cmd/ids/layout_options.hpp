#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/declaration.hpp"
#include "leaf/layout.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// The options that name the layout of snowflake IDs, for every command that looks into such IDs.
class LayoutOptions {
 public:
  /// Adds them to `command`; this has to live as long. `otherwise` is what holds without them.
  void declare(Declaration& command, std::string_view otherwise = "the setting 'layout', else leaf");

  /// What --layout names, whatever that is.
  const std::optional<std::string>& name() const noexcept { return layout_; }
  /// Whether any of them is there.
  bool is_named() const noexcept { return layout_ || bits_ || unit_ || epoch_; }

  /// The layout they name: in place of the one in the settings, or of `leaf` where there is none, and with
  /// its unit and epoch where they say nothing of them. Throws leaf::Error (usage).
  leaf::Layout layout(const Settings& settings) const;

 private:
  std::optional<std::string> layout_;
  std::optional<std::string> bits_;
  std::optional<std::string> unit_;
  std::optional<std::string> epoch_;
};

}  // namespace leafctl
