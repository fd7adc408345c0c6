#!/usr/bin/env bash
# What mixed_storm.hpp asks of a program, with the builtin of bash.
set -eo pipefail
enable -f "$BUILTIN" leaf
# shellcheck source=tests/languages/draw_builtin.sh
. "${0%/*}/draw_builtin.sh"
