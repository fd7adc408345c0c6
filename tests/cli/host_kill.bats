# kill -9 at each system call in turn that touches files, memory, processes or the store.
load support
load host_support

setup() {
  strace -qq -o /dev/null true 2>/dev/null || skip 'needs strace'
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
  : >"$ids"
}
teardown() { end_host_test; }

# What changes files, memory that is shared, processes or the store, every third call of a name; the soak has it killed at
# all of these, and at all others.
telling='^(clone|clone3|fallocate|fchmod|fcntl|fdatasync|fsync|ftruncate|linkat|mkdir|munmap|pwrite64|renameat2|sendto|setsid|statx|unlink|unlinkat|write)$'

# calls_of COMMAND...: the names of the system calls that it makes, of which it is to be killed at each.
calls_of() {
  strace -f -q -o "$BATS_TEST_TMPDIR/calls" "$@" >>"$ids"
  until_nobody_fetches
  sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$BATS_TEST_TMPDIR/calls" | sort -u | grep -v execve |
    grep -E "${TEST_CALLS:-$telling}"
}

# killed_at_each PREPARE COMMAND...: runs PREPARE, then the command, killed at the first of its calls of one name, then
# at the fourth, the seventh and so on, until it survives; and so with every name. After each death the same command
# has to work. What all of them print is in $ids.
killed_at_each() {
  local prepare=$1 deaths=0 trace=$BATS_TEST_TMPDIR/trace call at step=3
  [ -z "${TEST_CALLS:-}" ] || step=1
  shift
  $prepare
  for call in $(calls_of "$@"); do
    for ((at = 1; ; at += step)); do
      $prepare
      # It dies, or a detached process of it; both is right, and what it printed before counts.
      strace -f -q -o "$trace" -e trace="$call" -e inject="$call:signal=KILL:when=$at" "$@" >>"$ids" 2>/dev/null || true
      "$@" >>"$ids" || {
        echo "after it was killed at $call, number $at"
        return 1
      }
      grep -q 'killed by SIGKILL' "$trace" || break
      deaths=$((deaths + 1))
    done
  done
  echo "# $* was killed $deaths times" >&3
  echo "# figure: host_kill/$TEST_STORE $deaths kills at a system call" >&3
  [ $deaths -gt 10 ]
}

nothing() { :; }
drained() { leafctl -q tags update order --raise-to "$(leafctl tags show order -o json | jq -r .next_id)"; }
without_state() {
  until_nobody_fetches
  rm -rf "$LEAFCTL_RUNTIME_DIR"
}

@test "killed at a first start: the next call works, and no ID comes twice" {
  leafctl -q add-tag order --step 3
  killed_at_each without_state leafctl --timeout 5s next order
  all_different "$(wc -l <"$ids")" "$ids"
  increasing "$ids"
}

@test "killed at a fetch: the next call works, and no ID comes twice" {
  leafctl -q add-tag order --step 3
  leafctl next order >>"$ids"
  killed_at_each drained leafctl --timeout 5s next order -n 2
  all_different "$(wc -l <"$ids")" "$ids"
  increasing "$ids"
}

@test "killed at a call for many: the next call works, and no ID comes twice" {
  leafctl -q add-tag order --step 3
  leafctl next order --ranges >>"$ids"
  # More than the longest step, so that it always goes to the store.
  killed_at_each nothing leafctl --timeout 5s next order -n 2000000 --ranges
  awk -F '\t' '$1 <= last || $2 < $1 { print "not above " last ": " $0; bad = 1 } { last = $2 } END { exit bad }' "$ids"
}

@test "killed at a first window: the next call works, and no ID comes twice" {
  killed_at_each without_state leafctl --timeout 5s next --snowflake --window 20ms
  all_different "$(wc -l <"$ids")" "$ids"
}

@test "killed at a lease: the next call works, and no ID comes twice" {
  # No window lasts from one call to the next.
  killed_at_each nothing leafctl --timeout 5s next --snowflake --window 10ms
  all_different "$(wc -l <"$ids")" "$ids"
  increasing "$ids"
}
