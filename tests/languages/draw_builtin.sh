# shellcheck shell=bash disable=SC2154 # the builtin assigns `id`
# The same in each shell: draws in a child of the shell that has loaded the builtin.
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
