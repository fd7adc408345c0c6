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
  same 'the keys' 'store deployment layout workers schema_version minimum_reader applied adopted runtime_role guard_steps functions' "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
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
  contains "$stderr" "unknown layout 'leef'"
  expect 2 leafctl init-db --dry-run --layout leaf
  contains "$stderr" "hint: the SQL creates the tables; 'leafctl init-db --layout leaf' then sets the layout"
}

@test "a layout that has ended or not begun is taken with a warning" {
  local hint="hint: if snowflake IDs are to be made, choose another layout with 'leafctl init-db --layout LAYOUT'"
  expect 0 leafctl init-db --layout time:30,worker:10,sequence:12/1s@0
  contains "$stderr" "leafctl: warning: the timestamps of layout 'time:30,worker:10,sequence:12/1s@0' ended on 2004-01-10
$hint"
  expect 0 leafctl init-db
  [[ $stderr != *warning* ]]
  expect 0 leafctl init-db --layout time:41,worker:10,sequence:12@32503680000000
  contains "$stderr" "leafctl: warning: layout 'time:41,worker:10,sequence:12/1ms@32503680000000' begins only at 3000-01-01T00:00:00.000Z
$hint"
  expect 0 leafctl init-db --layout leaf
  [[ $stderr != *warning* ]]
  expect 0 leafctl next --snowflake
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
  contains "$stderr" "hint: the SQL creates the tables; 'leafctl init-db --guard-steps 5' then sets the guard"
}

@test "init-db --guard-steps is refused where there is no server, before anything is made" {
  [ "$TEST_STORE" = sqlite ] || skip "its store has a server"
  expect 2 leafctl init-db --guard-steps 5
  contains "$stderr" 'a SQLite store cannot fail over'
  [ ! -e "${LEAFCTL_STORE#sqlite:}" ]
  expect 0 leafctl init-db -o json
  same 'the guard' null "$(jq .guard_steps <<<"$output")"
}

@test "init-db --functions is refused where there can be none, before anything is made" {
  [ "$TEST_STORE" = sqlite ] || skip "its store has some"
  for how in '' --dry-run; do
    expect 2 leafctl init-db --functions $how
    says 'leafctl: a SQLite store cannot hold functions
hint: only a store in PostgreSQL has them'
    [ ! -e "${LEAFCTL_STORE#sqlite:}" ]
  done
  expect 0 leafctl init-db -o json
  same 'the functions' '[]' "$(jq -c .functions <<<"$output")"
}

@test "init-db --workers limits the workers, and without it a store keeps its own" {
  expect 0 leafctl init-db -o json
  same 'the default' 0-1023 "$(jq -r .workers <<<"$output")"
  expect 0 leafctl init-db --workers 2-3
  contains "$stderr" 'changed store'
  contains "$stderr" ', layout leaf, workers 2-3'
  contains "$stderr" 'workers 0-1023 were leased, and 2-3 are now'
  expect 0 leafctl init-db --workers 2-3
  contains "$stderr" 'up to date: '
  same 'what is kept' 2-3 "$(leafctl -q init-db -o json | jq -r .workers)"
  expect 2 leafctl workers acquire --worker-id 4
  says "leafctl: this store does not lease worker 4
hint: choose one from 2 to 3 with --worker-id, or leave the choice to the store"
  expect 0 leafctl workers acquire --worker-name w3 --worker-id 3
  same 'the worker' 2 "$(leafctl -q workers acquire --worker-name w2 | cut -f 1)"
  expect 6 leafctl workers acquire --worker-name late
  contains "$stderr" 'all 2 workers that this store leases, 2 to 3, are taken'
  expect 0 leafctl init-db --workers all
  contains "$stderr" 'workers 2-3 were leased, and 0-1023 are now'
  expect 0 leafctl workers acquire --worker-name late --worker-id 4
}

@test "init-db --workers is refused while a worker outside is leased, and says until when" {
  leafctl -q init-db
  end=$(leafctl -q workers acquire --worker-name web --worker-id 600 -o json | jq -r .window_end)
  expect 5 leafctl init-db --workers 0-511
  says "leafctl: workers outside of 0 to 511 are leased: 600 ('web') until $end
hint: stop what uses them, and try again at $end, when their windows are over"
  same 'what is kept' 0-1023 "$(leafctl -q init-db -o json | jq -r .workers)"
  expect 0 leafctl init-db --workers 600-1023
  leafctl -q init-db --workers all
  # As the hint says; the clock of PostgreSQL cannot be set.
  if [ "$TEST_STORE" = sqlite ]; then expect 0 at "@$(date -u -d "$end 1 second" '+%F %T')" leafctl init-db --workers 0-511; fi
}

@test "init-db --workers in a new store, with a layout, and what is no range" {
  expect 0 leafctl init-db --workers 128-255 --layout 41,8,14
  contains "$stderr" 'created store'
  contains "$stderr" ', workers 128-255'
  lacks "$stderr" 'were leased'
  expect 2 leafctl init-db --layout 41,7,15
  contains "$stderr" 'the store leases workers 128 to 255, and layout '
  contains "$stderr" "hint: choose others with 'leafctl init-db --workers'"
  expect 0 leafctl init-db --layout 41,7,15 --workers 0-63
  expect 0 leafctl init-db --layout leaf --workers 512-1023
  expect 2 leafctl init-db --workers 512-1024
  contains "$stderr" "leafctl: 512 to 1024 are not workers of layout 'leaf'
hint: it has workers from 0 to 1023"
  expect 0 leafctl init-db --workers 0-1023
  for none in 5 5-4 x-3 3- -3 1-2-3 ' 1-2' 0-2147483648 ''; do
    expect 2 leafctl init-db "--workers=$none"
    contains "$stderr" "'--workers' takes"
  done
  expect 2 leafctl init-db --dry-run --workers 0-511
  contains "$stderr" "'--dry-run' and '--workers' exclude each other"
  contains "$stderr" "hint: the SQL creates the tables; 'leafctl init-db --workers 0-511' then sets the workers"
}

@test "init-db --layout and --workers are set both or neither" {
  leafctl -q init-db
  leafctl -q workers acquire >"$BATS_TEST_TMPDIR/lease"
  expect 2 leafctl init-db --layout 43,4,16 --workers 0-7
  contains "$stderr" "the store's layout is 'leaf', not "
  same 'what is kept' '0-1023 leaf' "$(leafctl -q init-db -o json | jq -r '"\(.workers) \(.layout)"')"
  expect 2 leafctl init-db --layout 43,4,16 --workers 0-16
  same 'what is kept' '0-1023 leaf' "$(leafctl -q init-db -o json | jq -r '"\(.workers) \(.layout)"')"
  expect 0 leafctl init-db --layout leaf --workers 0-7
  expect 2 leafctl init-db --layout 41,11,11 --workers 8-15
  same 'what is kept' '0-7 leaf' "$(leafctl -q init-db -o json | jq -r '"\(.workers) \(.layout)"')"
}

@test "init-db --layout with --workers that it lacks changes neither" {
  leafctl -q init-db
  expect 2 leafctl init-db --layout 43,4,16 --workers 0-16
  contains "$stderr" "0 to 16 are not workers of layout 'time:43,worker:4,sequence:16/"
  same 'what is kept' '0-1023 leaf' "$(leafctl -q init-db -o json | jq -r '"\(.workers) \(.layout)"')"
  expect 0 leafctl init-db --layout 43,4,16 --workers 0-7
  expect 0 leafctl init-db --layout leaf --workers 1000-1023
}

@test "a new store that cannot be as init-db is to make it is not made" {
  for wrong in '--workers 0-5000' '--layout 1,62' '--layout 41,1,21 --workers 0-2'; do
    # shellcheck disable=SC2086 # several words
    expect 2 leafctl init-db $wrong
    expect 2 leafctl tags list
    if [ "$TEST_STORE" = sqlite ]; then
      [ ! -e "${LEAFCTL_STORE#sqlite:}" ]
    else
      contains "$stderr" 'the store has no tables yet'
    fi
  done
  expect 0 leafctl init-db --layout 41,1,21 --workers 0-1
  contains "$stderr" 'created store'
}

@test "a new store has its layout, workers and guard from the commit on that makes it" {
  if [ "$TEST_STORE" = sqlite ]; then
    leafctl -q init-db --layout 43,4,16 --workers 5-7
    # The header counts commits.
    same 'the commits' 1 "$((16#$(xxd -s 24 -l 4 -p "${LEAFCTL_STORE#sqlite:}")))"
  else
    leafctl -q init-db --layout 43,4,16 --workers 5-7 --guard-steps 3 --functions
    # Where another transaction had come after the one that made the table, it would have written the row anew.
    same 'the transactions' 1 "$(psql -AtX -d "$test_database" -c "SELECT count(DISTINCT x::text) FROM (SELECT xmin AS x FROM leaf_meta UNION ALL
      SELECT xmin FROM pg_class WHERE oid = 'leaf_worker'::regclass) AS made")"
    same 'the guard' 3 "$(leafctl -q init-db -o json | jq .guard_steps)"
  fi
  same 'the workers' 5-7 "$(leafctl -q init-db -o json | jq -r .workers)"
  same 'the first worker' 5 "$(leafctl -q workers acquire | cut -f 1)"
}
