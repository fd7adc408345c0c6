#pragma once

// bash's own headers, each after those that it takes for granted.
extern "C" {
#include <config.h>

#include <bashtypes.h>

#include <builtins.h>

#include <shell.h>

#include <builtins/common.h>
#include <quit.h>
}
