#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/declaration.hpp"
#include "leaf/store.hpp"
#include "terminal/messages.hpp"

namespace leafctl {

/// The argument PATTERN, for every command that goes over tags.
class TagSelection {
 public:
  /// Adds it to `command`; this has to live as long.
  void declare(Declaration& command);

  /// The tags whose names match, by name; says so where there is none.
  std::vector<leaf::Tag> tags(leaf::Store& store, Messages& messages) const;

 private:
  std::optional<std::string> pattern_;
};

}  // namespace leafctl
