#pragma once

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "leaf/id_form.hpp"

namespace leafctl {

/// The options --format and --template, for every command that writes or reads IDs.
class IdFormOptions {
 public:
  enum class Use { read, write };

  /// Adds them to `command`; this has to live as long.
  void declare(Declaration& command, Use use);

  /// The form they name; none for plain decimal. Throws leaf::Error (usage).
  std::optional<leaf::IdTemplate> form() const;

 private:
  std::optional<std::string> format_;
  std::optional<std::string> template_;
};

}  // namespace leafctl
