# What an operator sees of a change of the database's server, and says to it.
load support

setup() { new_initialized_store; }
teardown() { remove_store; }

# another_server [PATTERN TEXT]: as if another one had granted and leased last, whose name is this one's with TEXT for
# what matches PATTERN.
another_server() {
  local table
  for table in leaf_alloc leaf_meta; do
    psql -qX -d "$test_database" -c "ALTER TABLE $table DISABLE TRIGGER USER" \
      -c "UPDATE $table SET granted_by = regexp_replace(leaf_server('leaf_meta'::regclass), '${1-.+}', '${2-another}')" \
      -c "ALTER TABLE $table ENABLE TRIGGER USER"
  done
}

# check NAME: its state in doctor.
check() { leafctl doctor | awk -F '\t' -v name="$1" '$1 == name { print $2 }'; }

@test "failover shows that nothing waits, and settles nothing" {
  expect 0 leafctl failover show
  prints $'workers\t\tleased\t\t\t\t'
  says 'nothing waits'
  expect 0 leafctl failover settle -o json
  same 'the lines' 1 "$(wc -l <<<"$output")"
  same 'the keys' 'kind name state left_out_first left_out_last until granted_by' \
    "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
}

@test "failover settle leaves out the guard at once, and doctor fails while no worker is leased" {
  leafctl -q add-tag order --step 10
  another_server
  same 'identity' failed "$(check identity)"
  expect 0 leafctl failover show
  contains "$output" $'tag\torder\twaiting\t\t\t\tanother'
  contains "$output" $'workers\t\twaiting\t\t\t\t'
  contains "$stderr" "'leafctl failover settle' ends the wait"
  expect 0 leafctl failover settle
  [[ $output =~ $'tag\torder\tleft_out\t1\t'([0-9]+) ]]
  last=${BASH_REMATCH[1]}
  [ "$last" -ge 1000 ]
  contains "$stderr" '1 tag left out the guard'
  contains "$stderr" 'workers are leased from '
  same 'the next ID' "$((last + 1))" "$(leafctl next order --direct)"
  expect 3 leafctl workers acquire
  contains "$stderr" "saying so with 'leafctl failover settle --no-commits-lost' ends the wait"
  same 'identity' failed "$(check identity)"
}

@test "failover settle --no-commits-lost asks, and all goes on where it was" {
  leafctl -q add-tag order --step 10 --limit 100
  another_server
  expect 5 leafctl failover settle
  contains "$stderr" '1 of 1 tags have no room for the guard below their limit'
  contains "$(leafctl doctor | grep '^identity')" '1 of them has no room'
  expect 2 leafctl failover settle --no-commits-lost
  contains "$stderr" "add '--yes'"
  on_terminal 'leafctl failover settle --no-commits-lost' $'n\n'
  contains "$output" 'If commits were lost, or a backup was restored, IDs repeat'
  contains "$output" 'nothing was settled'
  expect 3 leafctl workers acquire
  # As the hint says.
  expect 0 $(sed -n "s/^hint: .*'\(leafctl .*\)' ends the wait$/\1/p" <<<"$stderr") --yes
  contains "$output" $'tag\torder\tkept\t'
  contains "$stderr" '1 tag left out nothing'
  same 'the next ID' 1 "$(leafctl next order --direct)"
  expect 0 leafctl workers acquire
  same 'identity' ok "$(check identity)"
}

@test "a tag that waits after a failover is not exported, nor one that is removed, and the hint mends it" {
  leafctl -q add-tag order --step 10
  leafctl -q next order
  leafctl -q add-tag gone --step 10
  leafctl -q tags remove --yes gone
  another_server
  expect 5 leafctl tags export gone
  prints ''
  contains "$stderr" "tag 'gone' has not yet left out what may have been granted"
  lacks "$(leafctl failover show)" gone
  leafctl -q next order --direct  # leaves it out by itself
  expect 5 leafctl tags export
  prints ''
  another_server
  expect 5 leafctl tags export
  prints ''
  contains "$stderr" "leafctl: tag 'order' has not yet left out what may have been granted before a failover or restore"
  contains "$stderr" 'leafctl: 2 tags would go on below what was granted, so nothing was exported'
  # As the hint says.
  expect 0 $(sed -n "s/^hint: run '\(leafctl .*\)' to make it do so$/\1/p" <<<"$stderr" | head -n 1)
  expect 0 leafctl tags export
  contains "$output" 'next_id: '
}

@test "failover settle --no-commits-lost speaks of the server before this one, and --every-server of all" {
  leafctl -q add-tag order --step 10
  leafctl -q add-tag bill --step 10 --limit 100
  # Two timelines back: what the server in between may have lost nobody has said.
  another_server '/[0-9]+/' '/-1/'
  expect 2 leafctl failover settle --every-server
  says "leafctl: '--every-server' needs '--no-commits-lost'"
  expect 5 leafctl failover settle --no-commits-lost --yes
  contains "$output" $'tag\torder\tleft_out\t1\t'
  contains "$output" $'tag\tbill\tno_room\t'
  contains "$stderr" 'workers are leased from '
  contains "$stderr" "if none has since the last grants, add '--every-server'"
  on_terminal 'leafctl failover settle --no-commits-lost --every-server' $'n\n'
  contains "$output" "If any server's commits were lost, or a backup was restored, IDs repeat"
  expect 0 leafctl failover settle --no-commits-lost --every-server --yes
  contains "$output" $'tag\tbill\tkept\t'
  lacks "$stderr" '--every-server'
  same 'the next ID' 1 "$(leafctl next bill --direct)"
  expect 0 leafctl workers acquire
}

@test "a tag whose guard goes past the highest ID is removed, as the hints say, and nothing waits any more" {
  leafctl -q add-tag last --start 9223372036854775000
  leafctl -q add-tag over --start 9223372036854775807
  leafctl -q next last --direct
  another_server
  expect 5 leafctl next last --direct
  contains "$stderr" 'hint: raise its limit, or go on with another tag if it has none; or, if no commit was lost'
  expect 5 leafctl failover settle
  contains "$output" $'tag\tlast\tno_room\t'
  contains "$output" $'tag\tover\tno_room\t'
  contains "$stderr" 'or remove those that have no limit'
  contains "$(leafctl doctor | grep '^identity')" 'or remove those that have no limit'
  for tag in last over; do leafctl -q tags remove --yes $tag; done
  expect 0 leafctl failover settle
  expect 0 leafctl tags export
  leafctl -q add-tag another
  expect 0 leafctl next another
}

@test "doctor says how many tags are gone from the table" {
  leafctl -q add-tag order
  leafctl -q add-tag bill
  psql -qX -d "$test_database" -c 'ALTER TABLE leaf_alloc DISABLE TRIGGER USER' \
    -c "DELETE FROM leaf_alloc WHERE biz_tag = 'bill'" -c 'ALTER TABLE leaf_alloc ENABLE TRIGGER USER'
  expect 1 leafctl doctor --exit-code
  contains "$output" $'tags\tfailed\t1 of 2 tags are gone from the table'
  contains "$output" "'leafctl add-tag TAG --start ID'"
  leafctl -q add-tag bill --start 1000
  expect 0 leafctl doctor --exit-code
}

@test "a program goes on with a later schema, and init-db and doctor say so" {
  leafctl -q add-tag order
  known=$(leafctl init-db -o json 2>/dev/null | jq .schema_version)
  psql -qX -d "$test_database" -c "UPDATE leaf_meta SET schema_version = $((known + 1))"
  expect 0 leafctl next order
  expect 0 leafctl init-db
  contains "$stderr" "its schema has version $((known + 1)); this program knows $known, and works with it"
  same 'schema' warning "$(check schema)"
  psql -qX -d "$test_database" -c "UPDATE leaf_meta SET min_reader = $((known + 1)), min_release = '9.1.0'"
  for command in init-db 'tags list' 'next order --direct'; do
    expect 2 leafctl $command
    contains "$stderr" 'use release 9.1.0 or later; leafctl-operations(7) describes the way back'
  done
  same 'schema' failed "$(check schema)"
}

@test "init-db --workers waits as long as workers do after a failover, and says until when" {
  another_server
  expect 3 leafctl init-db --workers 0-511
  [[ $stderr =~ ^"leafctl: neither the layout nor the range of workers can change before "([0-9TZ:.-]+)": " ]]
  contains "$stderr" "after a failover or restore the store may lack leases that are still in use"
  contains "$stderr" "hint: try again at ${BASH_REMATCH[1]}; if no commit was lost and no backup restored, saying so with 'leafctl failover settle --no-commits-lost' ends the wait"
  leafctl -q failover settle --no-commits-lost --yes >"$BATS_TEST_TMPDIR/settled"
  expect 0 leafctl init-db --workers 0-511
}

@test "init-db --layout waits as long, and takes no other one than this host has seen leased" {
  pg_dump --format=custom --file="$BATS_TEST_TMPDIR/ids.dump" "$test_database"
  leafctl next --snowflake >"$BATS_TEST_TMPDIR/drawn"
  pg_restore --clean --if-exists -1 -d "$test_database" "$BATS_TEST_TMPDIR/ids.dump"
  expect 3 leafctl init-db --layout cosid
  contains "$stderr" 'neither the layout nor the range of workers can change before '
  leafctl -q failover settle --no-commits-lost --yes >"$BATS_TEST_TMPDIR/settled"
  expect 5 leafctl init-db --layout cosid
  contains "$stderr" "the store has leased time in another layout than 'cosid' before: "
  contains "$stderr" "hint: set the layout that its IDs have with 'leafctl init-db --layout leaf'"
  same 'layout' ok "$(check layout)"
  # Who does not know better may choose.
  expect 0 leafctl init-db --layout cosid --runtime-dir "$BATS_TEST_TMPDIR/elsewhere"
  expect 5 leafctl next --snowflake --no-host-buffer
  contains "$stderr" "the store has leased time in another layout than 'cosid' before: "
  same 'layout' failed "$(check layout)"
  leafctl -q init-db --layout leaf
  same 'layout' ok "$(check layout)"
  expect 0 leafctl next --snowflake --no-host-buffer --worker-id 1023
}

@test "doctor says whether the server or its tables are others" {
  leafctl -q add-tag order
  another_server
  contains "$(leafctl doctor | grep '^identity')" ': another server than that of the last grants'
  another_server '[^/]*$' '1.2.3'
  contains "$(leafctl doctor | grep '^identity')" ': the same server, but other tables than those of the last grants'
}

@test "doctor names how far a tag went back, also while another one has no room for its guard" {
  leafctl -q add-tag order --step 10
  leafctl -q add-tag small --step 10 --limit 50
  # Directly, so that nobody fetches in the background once the backup is there.
  leafctl next small --direct >"$BATS_TEST_TMPDIR/small"
  pg_dump --format=custom --file="$BATS_TEST_TMPDIR/ids.dump" "$test_database"
  # More than any guard leaves out.
  leafctl next order --direct -n 100000000 --ranges >"$BATS_TEST_TMPDIR/order"
  pg_restore --clean --if-exists -1 -d "$test_database" "$BATS_TEST_TMPDIR/ids.dump"
  # Until it has left out its guard nobody knows whether that is enough.
  lacks "$(leafctl doctor | grep '^tags')" "tag 'order'"
  expect 5 leafctl -q failover settle
  contains "$(leafctl doctor | grep '^identity')" "raise the limit of each tag without room with 'leafctl tags update TAG --limit ID'"
  contains "$(leafctl doctor | grep '^tags')" "tag 'order' would grant IDs from "
  raise=$(leafctl doctor | grep -o "leafctl tags update order --raise-to [0-9]*")
  $raise
  expect 0 leafctl next order
  [ "$output" -gt 100000000 ]
  leafctl -q tags update small --limit 100000
  leafctl -q failover settle
  same 'tags that wait' 0 "$(leafctl doctor -o json | jq -s 'map(select(.check == "identity"))[0].measures.tags_ahead // 0')"
}

@test "doctor does not say to settle tags where none waits" {
  leafctl -q add-tag order --step 10
  another_server
  contains "$(leafctl doctor | grep '^identity')" "'leafctl failover settle' has tags leave out the guard now"
  leafctl -q failover settle >"$BATS_TEST_TMPDIR/settled"
  same 'identity' failed "$(check identity)"
  lacks "$(leafctl doctor | grep '^identity')" "'leafctl failover settle'"
  contains "$(leafctl doctor | grep '^identity')" "if no commit was lost and no backup restored, 'leafctl failover settle --no-commits-lost' ends the wait"
}
