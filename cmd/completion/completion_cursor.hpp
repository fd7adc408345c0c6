#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace leafctl {

/// Where somebody is typing in a command line, which may be wrong or unfinished.
struct CompletionCursor {
  std::span<const CommandEntry> commands{};  ///< all there are
  const CLI::App* command = nullptr;         ///< the one that the words before lead to
  std::vector<std::string> arguments;        ///< its arguments before the cursor
  std::vector<const CLI::Option*> given;     ///< the options before the cursor
  GlobalOptions settings;                    ///< what they say about settings
  bool options_ended = false;                ///< "--" stands before the cursor

  std::string word;                     ///< what is typed of the word at the cursor
  const CLI::Option* option = nullptr;  ///< whose value the word is or holds; null for none
  std::string prefix;                   ///< what stands in the word before that value, such as "--store="

  /// The value at the cursor as far as it is typed.
  std::string value() const { return word.substr(prefix.size()); }
};

/// Follows `words`, without the program's name, through the tree. The last one is at the cursor, and may be
/// empty; the command it leads to is declared in `command_line`. Never throws for what the words say.
CompletionCursor find_cursor(CommandLine& command_line, const std::vector<std::string>& words);

}  // namespace leafctl
