#pragma once

#include <span>
#include <string_view>

/// The builtin `leaf`, whichever shell has loaded it; what it asks of the shell is in face.hpp.
namespace leaf::shell {

/// To be called first: `leafctl` is where the program lies, from the folder of the module that this is in.
void load(std::string_view leafctl);

/// Does what the words after the builtin's name ask for, up to what is left to finish(); the exit status.
int work(std::span<const char* const> words);

/// Assigns or prints what work() has come to, whose status it takes. May leave by longjmp() where the shell's
/// functions do: nothing that has to be destroyed may be in use.
int finish(int status);

}  // namespace leaf::shell
