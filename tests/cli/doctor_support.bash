# What doctor says, piece by piece.

# checks STATE [OPTION...]: the details of all checks in that state, as 'check: detail'.
checks() {
  local state=$1
  shift
  leafctl doctor "$@" | awk -F '\t' -v state="$state" '$2 == state { print $1 ": " $3 }'
}

# hint CHECK [OPTION...]: of the first one that is not ok.
hint() {
  local check=$1
  shift
  leafctl doctor "$@" | awk -F '\t' -v check="$check" '$1 == check && $2 != "ok" { print $4; exit }'
}

# command_in HINT: the first piece in quotes.
command_in() { cut -d "'" -f 2 <<<"$1"; }
