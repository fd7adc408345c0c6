# What every file here starts from: a home of its own for each test, an empty store, and checks that show what they saw.
# shellcheck disable=SC2154 # bats sets status, output and stderr
bats_require_minimum_version 1.5.0

# create_database NAME [OPTION...]: by copying files, which is quicker than writing a log of it.
create_database() { createdb --strategy=file_copy "$@"; }

# An empty home, nothing configured, and $LEAFCTL_STORE of the kind that $TEST_STORE names, not initialized.
new_store() {
  unset "${!LEAFCTL_@}" "${!XDG_@}" NO_COLOR
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir -p "$HOME"
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/run
  case $TEST_STORE in
    sqlite)
      export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/leaf.db
      ;;
    postgresql)
      if [ -z "${PGHOST:-}" ]; then
        echo "there is no PostgreSQL: did you mean to run scripts/test?"
        return 1
      fi
      test_database=leaf_cli_${BATS_SUITE_TEST_NUMBER}_$$
      create_database "$test_database"
      export LEAFCTL_STORE=postgresql:///$test_database
      ;;
  esac
}

# runs_within KIB: skips the test where the program takes more address space merely to start, as with a sanitizer.
runs_within() {
  bash -c "ulimit -v $1; leafctl --version" >/dev/null 2>&1 || skip 'this build needs more memory'
}

# no_sanitizer KIND WHY: skips the test where the program was built with it: asan or tsan.
no_sanitizer() {
  ! grep -q "__$1_init" "$(command -v leafctl)" || skip "$2"
}

# The same, ready for use.
new_initialized_store() {
  new_store
  leafctl -q init-db
}

remove_store() {
  if [ -n "${test_database:-}" ]; then dropdb --force "$test_database"; fi
}

# The same with a tag `order`, and in a folder of the test's own.
new_order_store() {
  new_initialized_store
  cd "$BATS_TEST_TMPDIR"
  leafctl -q add-tag order
}

# at TIME COMMAND...: with the clock at @TIME, or off by +TIME or -TIME. The clocks of processes with the same TIME tick
# on alike. faketime names its semaphore by its process ID, and refuses one that a killed process of that ID has left.
at() (
  rm -f "/dev/shm/sem.faketime_sem_$BASHPID" "/dev/shm/faketime_shm_$BASHPID"
  export FAKETIME_DONT_FAKE_MONOTONIC=1
  exec faketime -f "$@"
)

# expect STATUS COMMAND...: runs it with the two streams apart, into $output, $lines, $stderr and $stderr_lines.
# Like bats' `run`, but out of sight of its debug trap, which would take longer than most commands.
expect() {
  local -
  set +eET
  expect_untraced "$@"
}
expect_untraced() {
  local wanted=$1
  shift
  output=$("$@" 2>"$BATS_TEST_TMPDIR/stderr") && status=0 || status=$?
  IFS=$'\n' read -r -d '' -a lines <<<"$output"
  read -r -d '' stderr <"$BATS_TEST_TMPDIR/stderr"
  IFS=$'\n' read -r -d '' -a stderr_lines <<<"$stderr"
  if [ "$status" -ne "$wanted" ]; then
    printf 'status %s, not %s\nstandard output: %s\nstandard error: %s\n' "$status" "$wanted" "$output" "$stderr"
    return 1
  fi
}

# same WHAT WANTED GOT
same() {
  if [ "$2" != "$3" ]; then
    printf '%s\nwanted: %q\ngot:    %q\n' "$1" "$2" "$3"
    return 1
  fi
}

prints() { same 'standard output' "$1" "$output"; }

# says TEXT: standard error is just that.
says() { same 'standard error' "$1" "$stderr"; }

# contains TEXT PART
contains() {
  if [[ $1 != *"$2"* ]]; then
    printf '%q\nis not in: %s\n' "$2" "$1"
    return 1
  fi
}

lacks() {
  if [[ $1 == *"$2"* ]]; then
    printf '%q\nis in: %s\n' "$2" "$1"
    return 1
  fi
}

# all_different COUNT FILE...: the files hold so many lines, and none of them twice.
all_different() {
  local wanted=$1
  shift
  same 'lines' "$wanted" "$(cat "$@" | wc -l)"
  same 'different lines' "$wanted" "$(cat "$@" | sort -u | wc -l)"
}

# increasing FILE: each ID is greater than the one before.
increasing() {
  if ! sort -n -u -C "$1"; then
    echo "$1 does not increase"
    return 1
  fi
}

# draw_in_four_loops COUNT FILE: at once, by calls for one snowflake ID each; into FILE.1 to FILE.4.
draw_in_four_loops() {
  local loop
  for loop in 1 2 3 4; do
    for ((i = 0; i < $1; ++i)); do leafctl next --snowflake; done >"$2.$loop" &
  done
  wait
  all_different $((4 * $1)) "$2".?
  for loop in 1 2 3 4; do increasing "$2.$loop"; done
}

# eventually COMMAND...: runs it until it succeeds, for what another process does in its own time.
eventually() {
  local end=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "this did not come about in a minute: $*"; return 1; }
  done
}

# state_of WORKER
state_of() { leafctl workers list | awk -F '\t' -v worker="$1" '$1 == worker { print $3 }'; }

# until_state WORKER STATE: looks until it has come about.
until_state() {
  local looks=0
  until [ "$(state_of "$1")" = "$2" ]; do
    looks=$((looks + 1))
    if [ $looks -gt 5000 ]; then same "the state of worker $1" "$2" "$(state_of "$1")"; fi
  done
}

# on_terminal COMMAND_LINE [KEYS]: runs it on a terminal of its own; both streams come back in $output.
on_terminal() {
  # A pipe that stays open: at the end of its input, script would send an end of file of its own.
  local keys=$BATS_TEST_TMPDIR/keys
  [ -p "$keys" ] || mkfifo "$keys"
  exec 8<>"$keys"
  printf '%s' "${2:-}" >&8
  run script -qec "$1" /dev/null <&8
  exec 8>&-
  output=${output//$'\r'/}
}
