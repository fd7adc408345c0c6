load support

setup() { new_store; }
teardown() { remove_store; }

@test "init-db --dry-run changes nothing, and its SQL does what init-db does" {
  expect 0 leafctl init-db --dry-run
  script=$output
  same 'the tables' 0 "$(psql -AtX -d "$test_database" -c "select count(*) from pg_tables where tablename like 'leaf%'")"
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" <<<"$script"
  expect 0 leafctl init-db
  contains "$stderr" 'up to date: '
}

@test "a server that is out of reach exits with 3" {
  expect 3 leafctl --timeout 2s --store 'postgresql://127.0.0.1:1/ids' next order
  prints ''
}

@test "a wrong password and a database that does not exist are usage errors" {
  PGPASSWORD=wrong expect 2 leafctl --store "host=$PGHOST port=$PGPORT dbname=$test_database" tags list
  expect 2 leafctl --store postgresql:///no_such_database tags list
  contains "$stderr" no_such_database
}

@test "a lock that is held past the timeout exits with 3, and the next call works" {
  leafctl -q init-db
  leafctl -q add-tag order
  coproc LOCK { psql -qAtX -d "$test_database" 3>&-; }
  echo "BEGIN; SELECT 'locked' FROM leaf_alloc FOR UPDATE;" >&"${LOCK[1]}"
  read -r -t 30 answer <&"${LOCK[0]}"
  same 'the lock' locked "$answer"
  expect 3 leafctl --timeout 300ms next order
  prints ''
  echo 'COMMIT; \q' >&"${LOCK[1]}"
  wait "$LOCK_PID" || true
  expect 0 leafctl next order
}

@test "a setting that the server does not take is named, and what the hint says helps" {
  leafctl -q init-db
  leafctl -q add-tag order
  for setting in client_min_messages=panic no_such_setting=1 synchronous_commit; do
    PGOPTIONS="-c $setting" expect 2 leafctl next order --direct
    contains "$stderr" "${setting%=*}"
    contains "$stderr" "hint: set it right, or leave it out, in PGOPTIONS and in the store's options"
  done
  PGOPTIONS='-c client_min_messages=notice' expect 0 leafctl next order --direct
  expect 0 leafctl next order --direct
}

@test "times that no program has set are told as they are, or as the last or first there is" {
  leafctl -q init-db
  leafctl -q add-tag order
  leafctl -q next order --direct
  local time
  # As PostgreSQL has it, and as it is told.
  for time in '294276-12-31 23:59:59+00 +294276-12-31T23:59:59.000Z' 'infinity +294276-12-31T23:59:59.999Z' \
    '-infinity -004712-11-25T00:00:00.000Z' '2026-11-21 00:00:00+00 2026-11-21T00:00:00.000Z'; do
    psql -qX -d "$test_database" -c 'SET session_replication_role = replica' \
      -c "UPDATE leaf_alloc SET update_time = '${time% *}', changed_at = '${time% *}'"
    expect 0 leafctl tags show order -o json
    same "$time" "${time##* }" "$(jq -r .granted <<<"$output")"
    same "$time, twice" "$(jq .granted <<<"$output")" "$(jq .updated <<<"$output")"
    leafctl tags export >"$BATS_TEST_TMPDIR/file"
  done
}

@test "commits that are not durable are refused" {
  leafctl -q init-db
  leafctl -q add-tag order
  PGOPTIONS='-c synchronous_commit=off' expect 5 leafctl next order
  prints ''
}

@test "a server that only reads is out of reach" {
  leafctl -q init-db
  leafctl -q add-tag order
  PGOPTIONS='-c default_transaction_read_only=on' expect 3 leafctl --timeout 1s next order
  prints ''
}

@test "a table that Leaf made is taken over with its values" {
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" <<'SQL'
CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL,
  description varchar(256), update_time timestamptz NOT NULL DEFAULT now());
INSERT INTO leaf_alloc VALUES ('leaf-segment-test', 1, 2000, 'Test leaf Segment Mode Get Id'), ('order', 40001, 500, NULL);
SQL
  expect 0 leafctl init-db
  same 'the first ID' 1 "$(leafctl next leaf-segment-test)"
  same 'the next ID' 40001 "$(leafctl next order)"
  same 'the description' 'Test leaf Segment Mode Get Id' \
    "$(leafctl tags show leaf-segment-test -o json | jq -r .description)"
}

@test "snowflake IDs go on to the end of the window while the store is away, with a warning, then exit with 3" {
  leafctl -q init-db
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  leafctl next --snowflake -n 1000000000000 --window 2s --timeout 300ms \
    >"$BATS_TEST_TMPDIR/pipe" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
  writer=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  head -c 1000 <&9 >"$BATS_TEST_TMPDIR/ids"
  coproc LOCK { psql -qAtX -d "$test_database" 3>&-; }
  echo "BEGIN; LOCK TABLE leaf_worker; SELECT 'locked';" >&"${LOCK[1]}"
  read -r -t 30 answer <&"${LOCK[0]}"
  same 'the lock' locked "$answer"
  cat <&9 >>"$BATS_TEST_TMPDIR/ids"
  exec 9<&-
  ended=0
  wait "$writer" || ended=$?
  same 'the status' 3 "$ended"
  contains "$(cat "$BATS_TEST_TMPDIR/errors")" 'leafctl: warning: no further window yet: '
  contains "$(tail -n 2 "$BATS_TEST_TMPDIR/errors")" 'leafctl: could not fetch a window of time within 300ms'
  increasing "$BATS_TEST_TMPDIR/ids"
  echo 'COMMIT; \q' >&"${LOCK[1]}"
  wait "$LOCK_PID" || true
  leafctl next --snowflake >>"$BATS_TEST_TMPDIR/ids"
  increasing "$BATS_TEST_TMPDIR/ids"
}

@test "names that the server quotes where it need not change nothing" {
  psql -qX -d "$test_database" -c "ALTER DATABASE $test_database SET quote_all_identifiers = on"
  expect 0 leafctl init-db
  expect 0 leafctl add-tag order
  expect 0 leafctl next order
  prints 1
  expect 0 leafctl next --snowflake
  expect 0 leafctl workers acquire --worker-name web
  expect 0 leafctl workers list
  expect 0 leafctl tags update order --step 5
  expect 0 leafctl failover show
  expect 0 leafctl init-db --workers 0-511
  expect 0 leafctl init-db --new-deployment --yes
  psql -qX -d "$test_database" -c "ALTER DATABASE $test_database RESET quote_all_identifiers"
  same 'the rows of other servers' 1006 "$(psql -AtqX -d "$test_database" -c 'SET quote_all_identifiers = on' \
    -c "UPDATE leaf_alloc SET max_id = max_id + step RETURNING max_id")"
  expect 0 leafctl doctor
}

@test "a description that the database cannot write is refused with what to leave out" {
  export LEAFCTL_STORE=postgresql:///${test_database}_latin1
  create_database --template template0 --encoding LATIN1 --locale C "${test_database}_latin1"
  leafctl -q init-db
  expect 2 leafctl add-tag order --description 'naïve €'
  contains "$stderr" "hint: leave out what the database's encoding cannot write"
  expect 0 leafctl add-tag order --description 'naïve'
  contains "$(leafctl tags show order)" 'naïve'
  dropdb --force "${test_database}_latin1"
}

@test "a log that was restored alone numbers nothing, and does so again" {
  local dump=$BATS_TEST_TMPDIR/dump
  leafctl -q init-db
  leafctl -q add-tag order
  pg_dump -Fc -d "$test_database" -f "$dump"
  pg_restore --clean --if-exists -1 -d "$test_database" -t leaf_event "$dump"
  contains "$(leafctl doctor)" 'numbers of leaf_event'
  expect 5 leafctl add-tag other
  contains "$stderr" "hint: see what the table lacks with 'leafctl doctor', and put it back with 'leafctl init-db'"
  expect 0 leafctl init-db
  lacks "$(leafctl doctor)" 'missing'
  expect 0 leafctl add-tag other
  same 'the log' 'order other' "$(leafctl log -o json | jq -r 'select(.event == "add").tag' | xargs)"
  psql -qX -d "$test_database" -c 'ALTER TABLE leaf_event ALTER event_id DROP IDENTITY'
  contains "$(leafctl doctor)" 'numbers of leaf_event'
  expect 0 leafctl init-db
  expect 0 leafctl tags update other --step 5
}

@test "tables that were restored alone have neither keys nor triggers, and get both again" {
  sql() { psql -AtqX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1"; }
  local dump=$BATS_TEST_TMPDIR/dump
  leafctl -q init-db
  leafctl -q add-tag order
  leafctl next order --direct
  leafctl next --snowflake --no-host-buffer
  pg_dump -Fc -d "$test_database" -f "$dump"
  sql 'DROP TABLE leaf_alloc, leaf_worker'
  pg_restore -d "$test_database" -t leaf_alloc -t leaf_worker "$dump"
  pg_restore -d "$test_database" -t leaf_alloc "$dump" || true  # the table is there, so its rows come once more
  same 'the rows' 2 "$(sql 'SELECT count(*) FROM leaf_alloc')"
  expect 5 leafctl next order --direct
  expect 5 leafctl add-tag other
  contains "$stderr" "hint: see what the table lacks with 'leafctl doctor', and put it back with 'leafctl init-db'"
  contains "$(leafctl doctor)" 'are turned off or missing: primary key of leaf_alloc, primary key of leaf_worker, '
  expect 5 leafctl init-db
  contains "$stderr" 'hint: remove the rows that have granted less, then try again'
  expect 5 leafctl next order --direct
  sql 'DELETE FROM leaf_alloc AS a USING leaf_alloc AS b WHERE a.biz_tag = b.biz_tag AND a.ctid < b.ctid'
  expect 0 leafctl init-db
  contains "$stderr" 'restored triggers, functions or keys'
  lacks "$(leafctl doctor)" 'turned off or missing'
  expect 0 leafctl failover settle --yes
  expect 0 leafctl next order --direct
  expect 0 leafctl add-tag other
  same 'a key' 'worker_id' "$(sql "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = 'leaf_worker'::regclass AND indisprimary")"
}

@test "a login that asks for what no primary is, or for what this one lacks, says what to leave out" {
  leafctl -q init-db
  leafctl -q add-tag order
  local attributes
  for attributes in read-only standby; do
    expect 2 env PGTARGETSESSIONATTRS=$attributes leafctl next order --direct
    contains "$stderr" 'hint: leave out target_session_attrs, or set it to read-write: IDs come from the primary alone'
  done
  expect 0 env PGTARGETSESSIONATTRS=read-write leafctl next order --direct
  expect 2 env PGCHANNELBINDING=require PGSSLMODE=disable leafctl next order --direct
  contains "$stderr" 'hint: leave out channel_binding=require, or have the server ask for the password by SCRAM, over TLS'
  expect 0 leafctl next order --direct
}
