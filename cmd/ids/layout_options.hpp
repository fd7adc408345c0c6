#pragma once

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "leaf/layout.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// The options that name the layout of snowflake IDs, for every command that looks into such IDs.
class LayoutOptions {
 public:
  /// Adds them to `command`; this has to live as long.
  void declare(Declaration& command);

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
