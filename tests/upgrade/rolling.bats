# Hosts are upgraded one by one: the last release, built from its commit, and this program draw from one store at once.
# TEST_STORE names the store's kind, OLD_LEAFCTL the release's program; the path begins with this one's.
load ../cli/support

setup() {
  new_store
  ids=$BATS_TEST_TMPDIR/ids
}
teardown() { remove_store; }

# Each with a host of its own, whose folder it keeps.
old() { LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/old LEAFCTL_WORKER_NAME=old "$OLD_LEAFCTL" "$@"; }
new() { LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/new LEAFCTL_WORKER_NAME=new leafctl "$@"; }

# draw_side_by_side COUNT: from both, tags and snowflakes, at once.
draw_side_by_side() {
  local program
  for program in old new; do
    for _ in 1 2 3 4; do "$program" next order -n "$1"; done >"$ids.$program" &
    for _ in 1 2 3 4; do "$program" next --snowflake -n "$1"; done >"$ids.$program.snowflake" &
  done
  local job
  for job in $(jobs -p); do wait "$job"; done
  cat "$ids".{old,new}{,.snowflake} >>"$ids"
}

@test "the store is upgraded first, while the last release draws, and both draw afterwards" {
  old -q init-db
  old -q add-tag order --step 50
  expect 2 new next order
  contains "$stderr" "hint: upgrade it with 'leafctl init-db'"
  for _ in {1..60}; do old next order -n 50; done >"$ids" &
  drawing=$!
  new -q init-db
  wait "$drawing"
  draw_side_by_side 500
  all_different $((3000 + 8000)) "$ids"
}

@test "the last release goes on with a store that this program made" {
  new -q init-db
  new -q add-tag order --step 50
  draw_side_by_side 500
  all_different 8000 "$ids"
  old -q tags update order --step 70
  same 'the step' 70 "$(new tags show order -o json | jq -r .step)"
  expect 0 old workers list
  expect 0 old init-db
  contains "$stderr" 'its schema has version '
}

@test "who goes back to the last release goes on behind what this program drew, also on the same host" {
  new -q init-db
  new -q add-tag order --step 50
  for _ in 1 2 3; do
    for program in leafctl "$OLD_LEAFCTL"; do
      "$program" next order -n 70
      "$program" next --snowflake -n 70
    done
  done >"$ids"
  all_different 840 "$ids"
}
