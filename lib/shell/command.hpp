#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace leaf::shell {

/// What a command line of the builtin asks for. Texts are those that were given, which end with a zero byte.
struct Command {
  enum class Kind {
    tag,         ///< IDs of `tag`, drawn from memory if they are there
    snowflakes,  ///< the same
    decode,      ///< `id` into a variable
    other,       ///< leafctl's
  };

  Kind kind = Kind::other;
  const char* variable = nullptr;  ///< of -v; null: the result is printed
  bool has_variable_option = false;
  bool has_count = false;  ///< many IDs, whatever their number
  std::uint64_t count = 1;
  const char* tag = nullptr;
  const char* id = nullptr;
  std::vector<const char*> for_leafctl;  ///< the words without -v and its variable
};

/// No more IDs than that are drawn from memory at once: what is lost where there are fewer.
inline constexpr std::uint64_t most_from_memory = 100;

/// Where an option is not known here, or something is wrong, the command is leafctl's, which says so.
void parse(std::span<const char* const> words, Command& command);

}  // namespace leaf::shell
