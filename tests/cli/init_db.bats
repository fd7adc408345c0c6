load support

setup() { new_store; }
teardown() { remove_store; }

@test "init-db creates the store, says so on standard error and names the deployment" {
  expect 0 leafctl init-db
  prints ''
  contains "$stderr" "created store"
  [[ $stderr =~ deployment\ [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} ]]
}

@test "init-db again changes nothing" {
  leafctl -q init-db
  leafctl -q add-tag order --start 7
  deployment=$(leafctl -q init-db -o json | jq -r .deployment)
  expect 0 leafctl init-db
  contains "$stderr" "up to date: "
  contains "$stderr" "deployment $deployment"
  same 'the next ID' 7 "$(leafctl next order)"
}

@test "init-db -o json prints one object" {
  expect 0 leafctl init-db -o json
  same 'the keys' 'store deployment layout schema_version minimum_reader applied adopted runtime_role guard_steps' "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
  same 'the first migration' 0001_tags "$(jq -r '.applied[0]' <<<"$output")"
  expect 0 leafctl init-db -o json
  same 'nothing more to apply' 0 "$(jq '.applied | length' <<<"$output")"
}

@test "init-db --dry-run prints nothing more once the store is up to date" {
  leafctl -q init-db
  expect 0 leafctl init-db --dry-run
  prints ''
  says 'the store is up to date'
}

@test "every command but init-db says how to create a store that is not there yet" {
  for command in 'next order' 'add-tag order' 'tags list' 'tags show order' 'tags update order --step 5' \
    'tags remove order --yes'; do
    expect 2 leafctl $command
    prints ''
    contains "$stderr" "'leafctl init-db'"
  done
}

@test "eight init-db at once leave one deployment" {
  for _ in 1 2 3 4 5 6 7 8; do
    leafctl init-db -o json 2>>"$BATS_TEST_TMPDIR/errors" >>"$BATS_TEST_TMPDIR/deployments" &
  done
  wait
  same 'the deployments' 1 "$(jq -r .deployment "$BATS_TEST_TMPDIR/deployments" | sort -u | wc -l)"
  same 'the answers' 8 "$(wc -l <"$BATS_TEST_TMPDIR/deployments")"
}

@test "init-db --layout sets the layout of a new store, and without it a store keeps its own" {
  expect 0 leafctl init-db --layout twitter
  contains "$stderr" 'layout twitter'
  expect 0 leafctl init-db -o json
  same 'the layout' twitter "$(jq -r .layout <<<"$output")"
  expect 0 leafctl init-db --layout 39,8,16/10ms@1409529600000
  contains "$stderr" 'layout time:39,worker:8,sequence:16/10ms@1409529600000'
}

@test "init-db --layout says that it changed the layout" {
  leafctl -q init-db
  expect 0 leafctl init-db --layout twitter
  contains "$stderr" "changed store '"
  contains "$stderr" 'the layout was leaf, and is twitter now'
  expect 0 leafctl init-db --layout twitter
  contains "$stderr" 'up to date: '
  lacks "$stderr" 'the layout was'
}

@test "init-db --layout is leaf where none is named" {
  expect 0 leafctl init-db -o json
  same 'the layout' leaf "$(jq -r .layout <<<"$output")"
}

@test "init-db --layout is refused once IDs were made with another one, and so is what is no layout" {
  leafctl -q init-db --layout twitter
  leafctl next --snowflake >"$BATS_TEST_TMPDIR/ids"
  expect 2 leafctl init-db --layout leaf
  contains "$stderr" "leafctl: the store's layout is 'twitter', not 'leaf'"
  expect 0 leafctl init-db --layout twitter
  expect 2 leafctl init-db --layout leef
  contains "$stderr" "'leef' is not a layout"
  expect 2 leafctl init-db --dry-run --layout leaf
  contains "$stderr" "hint: the SQL makes the tables; 'leafctl init-db --layout leaf' then sets the layout"
}

@test "init-db --guard-steps says what tags leave out after a failover" {
  [ "$TEST_STORE" = postgresql ] || skip "its store is a file"
  expect 0 leafctl init-db -o json
  same 'the default' 100 "$(jq .guard_steps <<<"$output")"
  expect 0 leafctl init-db --guard-steps 0
  contains "$stderr" 'changed store'
  contains "$stderr" 'tags left out 100 steps after a failover, and leave out 0 now'
  expect 0 leafctl init-db --guard-steps 0
  contains "$stderr" 'up to date: '
  same 'what is kept' 0 "$(leafctl -q init-db -o json | jq .guard_steps)"
  expect 2 leafctl init-db --guard-steps -1
  expect 2 leafctl init-db --guard-steps 5 --dry-run
  contains "$stderr" "hint: the SQL makes the tables; 'leafctl init-db --guard-steps 5' then sets the guard"
}

@test "init-db --guard-steps is refused where there is no server, before anything is made" {
  [ "$TEST_STORE" = sqlite ] || skip "its store has a server"
  expect 2 leafctl init-db --guard-steps 5
  contains "$stderr" 'a SQLite store has no server'
  [ ! -e "${LEAFCTL_STORE#sqlite:}" ]
  expect 0 leafctl init-db -o json
  same 'the guard' null "$(jq .guard_steps <<<"$output")"
}
