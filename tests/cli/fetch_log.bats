load support
load host_support

setup() {
  strace -qq -o /dev/null true 2>/dev/null || skip 'needs strace'
  new_initialized_store
  trace=$BATS_TEST_TMPDIR/trace
}
teardown() { end_host_test; }

# draw COUNT [OPTION...]: as many IDs, with what goes to the system's log noted, also by the detached process.
draw() {
  strace -f -qq -A -e trace=connect -o "$trace" leafctl next order -n "$@" >>"$BATS_TEST_TMPDIR/ids"
}
# Draws one more where the last fetch failed.
last_fetch_succeeded() {
  [ "$(buffered_state_of order)" = ok ] || { draw 1; return 1; }
}
told() { grep -c '"/dev/log"' "$trace" || true; }

@test "the system's log is told once that fetches in the background fail, and once that they succeed again" {
  leafctl -q add-tag order --step 1000
  draw 1
  same 'told of good fetches' 0 "$(told)"
  lock_store
  for ((i = 0; i < 9; ++i)); do draw 50 --timeout 100ms; done
  until_state_of order failing
  same 'told of failures' 1 "$(told)"
  unlock_store
  eventually last_fetch_succeeded
  same 'told in all' 2 "$(told)"
}
