#!/usr/bin/env -S zsh -f
# What mixed_storm.hpp asks of a program, with the module of zsh, in a child of the shell that has loaded it.
set -eo pipefail
module_path=("${BUILTIN%/*}" $module_path)
zmodload leaf
export LEAFCTL_WORKER_NAME=storm
leaf next storm -v id
( while read -r count; do
  for ((i = 0; i < count; ++i)); do
    leaf next storm -v id
    echo "t$id"
    if ((i % 4 == 0)); then
      leaf next --snowflake -v id
      echo "s$id"
    fi
  done
  echo .
done )
