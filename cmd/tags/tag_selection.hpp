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
  /// The same, and those that are removed.
  std::vector<leaf::Tag> all_tags(leaf::Store& store, Messages& messages) const;

  bool matches(const std::string& tag) const;

 private:
  std::vector<leaf::Tag> matching(std::vector<leaf::Tag> tags, Messages& messages) const;

  std::optional<std::string> pattern_;
};

}  // namespace leafctl
