#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What is asked of the shell that has loaded the builtin: each answers for itself. bash's functions may
/// leave by longjmp(), as at a subscript that is wrong: nothing that has to be destroyed may be in use then.
namespace leaf::shell::face {

/// The variables that a command has in its environment now, those of an assignment before it included; ends
/// with a null pointer. It stays until a variable changes.
char* const* environment();

/// The working folder.
std::string_view folder();

/// True if `trap '' SIGNAL` has said so.
bool ignores(int signal);

/// A signal that has come and will end the command, or 0.
int signal_to_end();

/// Writes `text` to standard error, after what the shell begins the messages of its builtin `leaf` with.
void complain(const char* text);

/// What a variable is to hold.
enum class Value { text, list, map };

/// Why that cannot be assigned to a variable of this name, said; its exit status. 0 if it can. Subscripts are
/// evaluated later.
int refuse_variable(const char* name, Value value);

/// Each says what is wrong, and returns an exit status.
int assign(const char* name, const char* value);
int assign_array(const char* name, std::span<const std::string> values);
int assign_map(const char* name, std::span<const std::pair<const char*, std::string>> values);

/// Prints them one a line; the exit status.
int print(std::span<const std::int64_t> numbers);
/// Empties the shell's own buffer of standard output before another process writes there.
void flush_output();

/// Each prints how the builtin is used, and returns the exit status for a mistake in a command.
int show_usage();
int show_help();

}  // namespace leaf::shell::face
