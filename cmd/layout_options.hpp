#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "leaf/layout.hpp"

namespace leafctl {

/// The options that name the layout of snowflake IDs, for every command that looks into such IDs.
class LayoutOptions {
 public:
  /// Adds them to `app`; this has to live as long.
  void declare(CLI::App& app);

  /// The layout they name; `leaf` if none was given. Throws leaf::Error (usage).
  leaf::Layout layout() const;

 private:
  std::optional<std::string> layout_;
  std::optional<std::string> bits_;
  std::optional<std::string> unit_;
  std::optional<std::string> epoch_;
};

}  // namespace leafctl
