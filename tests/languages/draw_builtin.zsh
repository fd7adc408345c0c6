#!/usr/bin/env -S zsh -f
# What mixed_storm.hpp asks of a program, with the module of zsh.
set -eo pipefail
module_path=("${BUILTIN%/*}" $module_path)
zmodload leaf
. "${0%/*}/draw_builtin.sh"
