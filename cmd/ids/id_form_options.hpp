#pragma once

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "leaf/id_form.hpp"

namespace leafctl {

/// The options --format and --template, for every command that writes or reads IDs.
class IdFormOptions {
 public:
  /// Adds them to `command`; this has to live as long. `purpose` begins their help, such as "print each ID".
  void declare(Declaration& command, const std::string& purpose);

  /// The form they name; none for plain decimal. Throws leaf::Error (usage).
  std::optional<leaf::IdTemplate> form() const;

 private:
  std::optional<std::string> format_;
  std::optional<std::string> template_;
};

}  // namespace leafctl
