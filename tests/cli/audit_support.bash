# What is in the output of leafctl audit.
# shellcheck disable=SC2154 # bats sets output

# found NAME [COLUMN]: a column of the first finding of that name in $output; 2, the state, if none is named.
found() { awk -F '\t' -v name="$1" -v column="${2:-2}" '$1 == name { print $column; exit }' <<<"$output"; }

# measure FINDING NAME
measure() { found "$1" 5 | tr , '\n' | sed -n "s/^$2=//p"; }
