#!/usr/bin/env bash
# What mixed_storm.hpp asks of a program, with leafctl.
set -eo pipefail
while read -r count; do
  leafctl next storm -n "$count" | sed 's/^/t/'
  leafctl next --snowflake --worker-name storm -n $((count / 4)) | sed 's/^/s/'
  echo .
done
