#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

// zsh's own headers, which are C's: `new` is a name of theirs, and `empty` a macro.
extern "C" {
#define new new_one
#include <zsh.mdh>
#undef new
#undef empty
}
