#pragma once

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "terminal/input_file.hpp"

namespace leafctl {

/// The forms of files of tags.
enum class TagFormat { yaml, csv };

/// The option --format of commands on files of tags.
class TagFormatOption {
 public:
  /// Adds it to `command`; this has to live as long. `fallback` is what counts without it, for the help.
  void declare(Declaration& command, const std::string& fallback);

  /// The format that was named; none if there is no option. Throws leaf::Error (usage).
  std::optional<TagFormat> format() const;

 private:
  std::optional<std::string> text_;
};

/// The format of a file: by the end of its name, else by its first line.
TagFormat format_of(const InputFile& file);

}  // namespace leafctl
