load support
load host_support
load doctor_support

setup() { new_initialized_store; }
teardown() {
  let_go
  end_host_test
  if [ -n "${role:-}" ]; then dropuser "$role"; fi
}

on_postgresql() { [ "$TEST_STORE" = postgresql ] || skip 'SQLite has none'; }
on_sqlite() { [ "$TEST_STORE" = sqlite ] || skip 'a server has no file that others lock'; }

# new_role: that may log in, and nothing else.
new_role() {
  role=${test_database}_role
  psql -qX -d "$test_database" -c "CREATE ROLE $role LOGIN PASSWORD 'secret'"
}
as_role() { PGUSER=$role PGPASSWORD=secret PGPASSFILE=/dev/null "$@"; }

run_sql_in() { psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -c "$(command_in "$1")"; }

@test "doctor looks at everything, and a store that was just made is well" {
  expect 0 leafctl doctor --exit-code
  says ''
  wanted='connection server schema rights durability clock tags layout workers host_buffer'
  if [ "$TEST_STORE" = postgresql ]; then
    wanted='connection server primary schema rights durability clock identity tags layout workers host_buffer'
  fi
  same 'the checks' "$wanted" "$(cut -f 1 <<<"$output" | uniq | xargs)"
  same 'the fields' 6 "$(awk -F '\t' '{ print NF }' <<<"$output" | sort -u)"
  same 'those that failed' '' "$(checks failed)"
  contains "$output" "$(leafctl init-db -o json | jq -r .deployment)"
  contains "$output" "the timestamps of layout 'leaf' last until 2080-07-10"
  expect 0 leafctl doctor -o json
  same 'the keys' 'check state detail hint subject measures' "$(jq -r 'keys_unsorted | join(" ")' <<<"$output" | sort -u)"
  same 'the hint of what is well' null "$(jq 'select(.check == "schema").hint' <<<"$output")"
}

@test "doctor tells in numbers what it tells in words" {
  leafctl -q add-tag order --limit 1000
  leafctl -q next order --direct -n 950 >"$BATS_TEST_TMPDIR/ids"
  expect 0 leafctl doctor -o json
  same 'IDs left' 50 "$(jq 'select(.subject == "order").measures.ids_left' <<<"$output")"
  same 'workers' '1024 1024' "$(jq -r 'select(.check == "workers").measures | "\(.free) \(.total)"' <<<"$output")"
  same 'the schema' true "$(jq 'select(.check == "schema").measures | .version == .needed_version' <<<"$output")"
  same 'seconds' true "$(jq 'select(.check == "layout").measures.seconds_left > 1e9' <<<"$output")"
}

@test "doctor answers a plugin for Nagios with one line and its exit status" {
  # A server for tests may have fsync off, which is a warning.
  if [ -z "$(checks warning)" ]; then
    expect 0 leafctl doctor --format nagios
    [[ $output == "LEAFCTL OK - "*" checks | "*"'workers_free'=1024"* ]]
    says ''
  fi
  leafctl -q add-tag order --limit 1000
  leafctl -q next order --direct -n 950 >"$BATS_TEST_TMPDIR/ids"
  expect 1 leafctl doctor --format nagios
  [[ $output == "LEAFCTL WARNING - "*"tags: tag 'order' has only 50 IDs left (limit 1000) | "*"'tags_order_ids_left'=50"* ]]
  same 'lines' 1 "$(wc -l <<<"$output")"
  leafctl -q next order --direct -n 50 >"$BATS_TEST_TMPDIR/ids"
  expect 2 leafctl doctor --format nagios --exit-code
  [[ $output == "LEAFCTL CRITICAL - tags: tag 'order' is used up: its limit is "* ]]
  LEAFCTL_STORE=postgresql://127.0.0.1:1/ids expect 2 leafctl doctor --format nagios --timeout 0
  [[ $output == 'LEAFCTL CRITICAL - connection: '* ]]
  expect 2 leafctl doctor --format icinga
}

@test "a plugin for Nagios that cannot look says so on standard output, and exits with 3" {
  for option in '--format nagios' '--format=nagios'; do
    expect 3 leafctl doctor $option --no-such-option
    prints "LEAFCTL UNKNOWN - unknown option '--no-such-option'"
    contains "$stderr" "hint: see 'leafctl doctor --help'"
  done
  LEAFCTL_TIMEOUT=soon expect 3 leafctl doctor --format nagios
  [[ $output == "LEAFCTL UNKNOWN - 'LEAFCTL_TIMEOUT' takes a duration "* ]]
  expect 3 leafctl --config /nowhere doctor --format nagios
  prints "LEAFCTL UNKNOWN - configuration file '/nowhere' does not exist"
  expect 3 leafctl doctor --format nagios --worker-name 'a | b'
  [[ $output == "LEAFCTL UNKNOWN - "*"'a / b'" ]]
  expect 2 leafctl next doctor --format hex --no-such-option
  prints ''
}

@test "doctor names the server's version, system identifier and timeline" {
  on_postgresql
  expect 0 leafctl doctor
  version=$(psql -AtX -d "$test_database" -c 'SHOW server_version')
  contains "$output" "PostgreSQL ${version%% *}, libpq "
  identifier=$(psql -AtX -d "$test_database" -c 'SELECT system_identifier FROM pg_control_system()')
  contains "$output" "system identifier $identifier, timeline 1"
}

@test "doctor of a server that is out of reach says so, and looks at the host all the same" {
  export LEAFCTL_STORE=postgresql://127.0.0.1:1/ids
  export LEAFCTL_TIMEOUT=300ms
  expect 0 leafctl doctor
  says ''
  same 'the checks' 'connection host_buffer' "$(cut -f 1 <<<"$output" | xargs)"
  same 'what is to be done' 'check that the server runs, and the host and port' "$(hint connection)"
  expect 1 leafctl doctor --exit-code
  contains "$output" $'connection\tfailed\t'
  says 'leafctl: 1 of 2 checks failed'
}

@test "doctor of a store that was not made yet names the command that makes it" {
  remove_store
  new_store
  rm -f "${LEAFCTL_STORE#sqlite:}"
  case $TEST_STORE in
    sqlite) check=connection ;;
    postgresql) check=schema ;;
  esac
  contains "$(checks failed)" "$check: "
  $(command_in "$(hint $check)") -q
  same 'those that failed' '' "$(checks failed)"
}

@test "doctor warns of a tag near its limit, and what it says mends it" {
  leafctl -q add-tag order --limit 1000
  same 'the tags' 'tags: 1 tag, not near its limit' "$(checks ok | grep '^tags')"
  leafctl -q next order --direct -n 950 >"$BATS_TEST_TMPDIR/ids"
  same 'the tag' "tags: tag 'order' has only 50 IDs left (limit 1000)" "$(checks warning | grep '^tags')"
  expect 0 leafctl doctor --exit-code
  leafctl -q next order --direct -n 50 >"$BATS_TEST_TMPDIR/ids"
  same 'the tag' "tags: tag 'order' is used up: its limit is 1000" "$(checks failed)"
  expect 1 leafctl doctor --exit-code
  command=$(command_in "$(hint tags)")
  ${command/ID/100000} -q
  same 'the tags' 'tags: 1 tag, not near its limit' "$(checks ok | grep '^tags')"
}

@test "doctor tells how long a tag lasts at the pace of this host" {
  leafctl -q add-tag order --limit 10000000
  leafctl -q next order -n 900 >"$BATS_TEST_TMPDIR/ids"
  # What is drawn in a moment is no pace.
  lacks "$(checks warning)" 'tags: '
  warned=$(at +2m leafctl doctor | grep $'^tags\twarning')
  contains "$warned" ', for about '
  contains "$warned" " at this host's pace"
  lacks "$(checks warning --no-host-buffer)" "tags: "
}

@test "doctor tells which tags have IDs that others may not hold" {
  leafctl -q add-tag middle --start 3000000000
  leafctl -q add-tag great --start 9007199254740993
  contains "$(checks ok)" "tags: IDs past 2^31, too large for 32-bit columns: of 'middle'"
  contains "$(checks ok)" "tags: IDs past 2^53, which JavaScript keeps only as strings: of 'great'"
}

@test "doctor warns of a worker whose holder may be dead, and what it says frees it" {
  leafctl -q workers acquire --worker-name gone --window 10ms >"$BATS_TEST_TMPDIR/lease"
  until_state 0 lapsed
  lacks "$(checks warning)" workers
  lacks "$(checks warning --recycle-after 0s --worker-name gone)" workers
  contains "$(checks warning --recycle-after 0s)" "workers: worker 0 of 'gone' was not given back, and silent for "
  command=$(hint workers --recycle-after 0s | sed "s/.*'\(leafctl [^']*\)'.*/\1/")
  $command -q
  lacks "$(checks warning --recycle-after 0s)" workers
}

@test "doctor warns when few workers are free, and fails when there is none" {
  leafctl -q init-db --layout 43,4,16
  for ((i = 0; i < 16; ++i)); do
    leafctl -q workers acquire --worker-name "w$i" --window 10ms --recycle-after 1d >"$BATS_TEST_TMPDIR/lease"
    case $i in
      13) contains "$(checks ok)" 'workers: 14 of 16 workers are taken' ;;
      15) contains "$(checks failed)" 'workers: 16 of 16 workers are taken' ;;
    esac
  done
  lacks "$(checks failed --worker-name w3)" workers
  # As the hint says.
  seen=$(hint workers)
  until_state 7 lapsed
  same 'who is seen' 16 "$($(cut -d "'" -f 2 <<<"$seen") | wc -l)"
  same 'the hint' "see 'leafctl workers list', and free those no longer used with 'leafctl workers recycle'" "$seen"
  $(cut -d "'" -f 4 <<<"$seen") {0..7} --yes -q
  lacks "$(checks failed; checks warning)" workers
}

@test "doctor counts the workers that the store leases, and names them" {
  leafctl -q init-db --workers 0-511
  contains "$(checks ok)" "workers: 0 of 512 workers are taken, of the layout's 1024 this store leases 0 to 511"
  leafctl -q init-db --workers 0-0
  leafctl -q workers acquire --worker-name other >"$BATS_TEST_TMPDIR/lease"
  contains "$(checks failed)" "workers: 1 of 1 workers are taken, of the layout's 1024 this store leases 0 to 0"
}

@test "doctor fails where another owner holds the worker that is pinned, and what it says goes on" {
  leafctl next --snowflake --worker-name other --worker-id 5 >/dev/null
  export LEAFCTL_WORKER_ID=5
  contains "$(checks failed --worker-name web)" 'workers: worker 5 is held by another owner, or its window is not over'
  lacks "$(checks failed --worker-name other)" workers
  lacks "$(checks failed --worker-name other --no-host-buffer)" workers
  expect 5 leafctl next --snowflake --worker-name web
  LEAFCTL_WORKER_ID=6 expect 0 leafctl doctor --exit-code --worker-name web
  leafctl -q init-db --workers 0-9
  LEAFCTL_WORKER_ID=10 expect 1 leafctl doctor --exit-code --worker-name web
  contains "$output" 'this store does not lease worker 10'
  LEAFCTL_WORKER_ID=1024 expect 1 leafctl doctor --exit-code --worker-name web
  unset LEAFCTL_WORKER_ID
  expect 0 leafctl doctor --exit-code --worker-name web
}

@test "doctor fails where the window is too short for the layout, until it is as long as the hint says" {
  leafctl -q init-db --layout 41,10,12/10m
  contains "$(checks failed)" 'workers: a window of '
  window=$(hint workers | sed -n 's/^set the window to \(.*\) or longer$/\1/p')
  LEAFCTL_WINDOW=$window expect 0 leafctl doctor --exit-code
}

@test "doctor asks for a free worker only where the host has none buffered" {
  leafctl -q init-db --workers 0-0
  leafctl next --snowflake >/dev/null
  lacks "$(checks failed)" workers
  expect 0 leafctl next --snowflake
  contains "$(checks failed --no-host-buffer)" 'workers: all 1 workers that this store leases, 0 to 0, are taken'
  expect 6 leafctl next --snowflake --no-host-buffer
}

@test "doctor names another layout than is expected" {
  contains "$(checks failed --layout twitter)" "layout: the store's layout is 'leaf', but this host expects 'twitter'"
  lacks "$(checks failed --layout leaf)" layout
}

@test "doctor warns a year before the timestamps end" {
  at '@2079-12-01 00:00:00' leafctl doctor --max-skew 24h >"$BATS_TEST_TMPDIR/seen"
  case $TEST_STORE in
    sqlite) contains "$(<"$BATS_TEST_TMPDIR/seen")" $'layout\twarning\tthe timestamps of layout \'leaf\' end on 2080-07-10, in ' ;;
    postgresql) contains "$(<"$BATS_TEST_TMPDIR/seen")" $'layout\tok' ;;
  esac
}

@test "doctor compares this host's clock with the store's" {
  on_postgresql
  at -1h leafctl doctor >"$BATS_TEST_TMPDIR/seen"
  contains "$(<"$BATS_TEST_TMPDIR/seen")" $'clock\tfailed\tthis host\'s clock is '
  contains "$(<"$BATS_TEST_TMPDIR/seen")" " behind the store's: more than 5s, so no worker is leased"
  at -1h leafctl doctor --max-skew 100m >"$BATS_TEST_TMPDIR/seen"
  contains "$(<"$BATS_TEST_TMPDIR/seen")" $'clock\twarning\t'
}

@test "doctor finds that the store's clock went back behind its grants" {
  leafctl -q workers acquire >"$BATS_TEST_TMPDIR/lease"
  hour=3600000
  case $TEST_STORE in
    sqlite) sqlite3 "${LEAFCTL_STORE#sqlite:}" "UPDATE leaf_worker SET renewed_at = renewed_at + $hour" ;;
    postgresql) psql -qX -d "$test_database" -c 'SET session_replication_role = replica' \
      -c "UPDATE leaf_worker SET renewed_at = renewed_at + $hour" ;;
  esac
  contains "$(checks failed)" "clock: the store's clock is 59m "
}

@test "doctor refuses a folder of another mode, and what it says mends it" {
  mkdir -m 755 "$LEAFCTL_RUNTIME_DIR"
  same 'the folder' "host_buffer: runtime folder '$LEAFCTL_RUNTIME_DIR' has mode 0755, not 0700" "$(checks failed)"
  $(command_in "$(hint host_buffer)")
  same 'those that failed' '' "$(checks failed)"
  contains "$(checks ok)" "host_buffer: 0 buffers in '$LEAFCTL_RUNTIME_DIR', of mode 0700"
}

@test "doctor names a folder that cannot be made, and makes none itself" {
  contains "$(checks ok)" "the first call creates '$LEAFCTL_RUNTIME_DIR'"
  [ ! -e "$LEAFCTL_RUNTIME_DIR" ]
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/a/b/c
  contains "$(checks failed)" "host_buffer: folder '$LEAFCTL_RUNTIME_DIR' cannot be created"
  $(command_in "$(hint host_buffer)")
  same 'those that failed' '' "$(checks failed)"
  export LEAFCTL_RUNTIME_DIR=/proc/leafctl
  contains "$(checks failed)" "host_buffer: folder '/proc/leafctl' cannot be created"
  contains "$(checks ok --no-host-buffer)" 'host_buffer: not used'
}

@test "doctor names a buffer whose fetches fail" {
  let_a_fetch_fail "$BATS_TEST_TMPDIR/ids"
  unlock_store
  # Of the store itself doctor would know that it is well again.
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/none.db
  contains "$(checks warning)" 'host_buffer: the last '
  contains "$(checks warning)" "of tag 'order' from store '"
}

@test "doctor warns of an unlogged table, and what it says mends it" {
  on_postgresql
  psql -qX -d "$test_database" -c 'ALTER TABLE leaf_alloc SET UNLOGGED'
  same 'what failed' 'durability: unlogged: public.leaf_alloc; a crash of the server empties it, so no IDs are drawn' \
    "$(checks failed)"
  expect 5 leafctl tags list
  run_sql_in "$(hint durability)"
  same 'those that failed' '' "$(checks failed)"
}

@test "doctor names where synchronous_commit is off, and what it says mends it" {
  on_postgresql
  new_role
  leafctl -q init-db --runtime-role "$role"
  seen='durability: synchronous_commit is off: a crash of the server loses commits, so no IDs are drawn'
  for place in "ROLE $role" "DATABASE $test_database" "ROLE $role IN DATABASE $test_database"; do
    psql -qX -d "$test_database" -c "ALTER $place SET synchronous_commit = off"
    same "what failed at $place" "$seen" "$(as_role checks failed)"
    run_sql_in "$(as_role hint durability)"
    same "what failed after it was mended at $place" '' "$(as_role checks failed)"
  done
  export PGOPTIONS='-c synchronous_commit=off'
  same 'what failed by PGOPTIONS' "$seen" "$(as_role checks failed)"
  contains "$(as_role hint durability)" 'out of PGOPTIONS'
  unset PGOPTIONS
  same 'what failed after that' '' "$(as_role checks failed)"
}

@test "doctor warns of fsync just where the server has it off" {
  on_postgresql
  case $(psql -AtX -d "$test_database" -c 'SHOW fsync') in
    off) contains "$(checks warning)" 'durability: fsync is off: a crash of its machine loses commits' ;;
    on) contains "$(checks ok)" 'fsync on' ;;
  esac
}

@test "doctor names the rights that a role lacks, and what it says grants them" {
  on_postgresql
  new_role
  seen=$(as_role checks failed)
  contains "$seen" "rights: role '$role' lacks SELECT on leaf_alloc, SELECT on leaf_worker"
  contains "$seen" 'UPDATE of leaf_alloc.max_id'
  same 'the checks that failed' rights "$(cut -d : -f 1 <<<"$seen")"
  command=$(command_in "$(as_role hint rights)")
  $command -q
  same 'those that failed' '' "$(as_role checks failed)"
  psql -qX -d "$test_database" -c "REVOKE UPDATE (token) ON leaf_worker FROM $role"
  same 'the right' "rights: role '$role' lacks UPDATE of leaf_worker.token" "$(as_role checks failed)"
}

@test "doctor names a schema that is closed to the role" {
  on_postgresql
  new_role
  psql -qX -d "$test_database" -c 'CREATE SCHEMA "Own Ids"' \
    -c "ALTER DATABASE $test_database SET search_path = \"Own Ids\""
  leafctl -q init-db
  psql -qX -d "$test_database" -c 'DROP TABLE public.leaf_alloc, public.leaf_worker, public.leaf_meta'
  same 'the right' "rights: role '$role' lacks USAGE on schema \"Own Ids\"" "$(as_role checks failed)"
  command=$(command_in "$(as_role hint rights)")
  $command -q
  same 'those that failed' '' "$(as_role checks failed)"
}

@test "doctor names a role that may only read, and what it says mends it" {
  on_postgresql
  new_role
  leafctl -q init-db --runtime-role "$role"
  for place in "ROLE $role" "DATABASE $test_database"; do
    psql -qX -d "$test_database" -c "ALTER $place SET default_transaction_read_only = on"
    same "what failed at $place" 'primary: the server accepts no writes from this role: default_transaction_read_only is on' \
      "$(as_role checks failed)"
    run_sql_in "$(as_role hint primary)"
    same "what failed after it was mended at $place" '' "$(as_role checks failed)"
  done
}

@test "doctor names a file that this user may not write" {
  [ "$TEST_STORE" = sqlite ] || skip 'a server has roles for that'
  [ "$(id -u)" -eq 0 ] || skip 'needs root, to be somebody else'
  chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
  chmod 644 "${LEAFCTL_STORE#sqlite:}"
  as_nobody() { setpriv --reuid 65534 --clear-groups "$(command -v leafctl)" "$@"; }
  as_nobody --version >/dev/null || skip 'other users cannot run the program'
  seen=$(as_nobody doctor)
  contains "$seen" $'rights\tfailed\tthis user lacks writing file '
}

@test "on a terminal doctor prints a table of 80 columns, the hint below its check" {
  mkdir -m 755 "$LEAFCTL_RUNTIME_DIR"
  on_terminal 'leafctl doctor --color never'
  same 'status' 0 "$status"
  contains "$output" 'check        state'
  contains "$output" 'hint: if nobody else has written in it, '
  same 'lines that are too wide' '' "$(grep -E '^.{81}' <<<"$output" | grep -v / || true)"
  on_terminal 'leafctl doctor --color always'
  contains "$output" $'\033[31mfailed\033[0m'
}

# hold SQL: in a transaction that stays open until let_go, by a program called 'psql of somebody'.
hold() {
  coproc HOLD { PGAPPNAME='psql of somebody' psql -qAtX -d "$test_database" 3>&-; }
  hold_process=$HOLD_PID
  echo "BEGIN; $1; SELECT pg_backend_pid();" >&"${HOLD[1]}"
  read -r -t 30 holder <&"${HOLD[0]}"
}

# let_go: its transaction ends, if nobody has ended it.
let_go() {
  [ -n "${hold_process:-}" ] || return 0
  echo 'ROLLBACK; \q' >&"${HOLD[1]}"
  wait "$hold_process" || true
  hold_process=
}

# locks [OPTION...]: what doctor says of them.
locks() { leafctl doctor "$@" | awk -F '\t' '$1 == "locks"'; }

@test "doctor names who locks a tag, and what it says frees it" {
  on_postgresql
  leafctl -q add-tag order
  leafctl -q add-tag other
  new_role
  leafctl -q init-db --runtime-role "$role"
  same 'locks' '' "$(locks)"
  hold "UPDATE leaf_alloc SET description = 'x' WHERE biz_tag = 'order'"
  expect 3 leafctl next order --direct --timeout 1s
  contains "$stderr" "see who holds a lock with 'leafctl doctor'"
  expect 0 locks
  contains "$output" $'locks\twarning\tprocess '"$holder of the server, of role '"
  contains "$output" "' and program 'psql of somebody', in a transaction since 20"
  contains "$output" "locks tag 'order': whoever needs it waits"
  # Who may draw IDs only may not know when.
  expect 0 as_role locks
  contains "$output" "' and program 'psql of somebody' locks tag 'order': whoever needs it waits"
  run_sql_in "$(hint locks)"
  same 'locks' '' "$(locks)"
  expect 0 leafctl next order --direct
}

# hold_file SQL [KIND]: in a transaction (EXCLUSIVE keeps others from reading too) of a SQLite file that stays open until let_go.
hold_file() {
  coproc HOLD { exec stdbuf -oL sqlite3 "${LEAFCTL_STORE#sqlite:}" 3>&-; }
  hold_process=$HOLD_PID
  printf ".timeout 10000\nBEGIN %s; %s; SELECT 'held';\n" "${2:-}" "$1" >&"${HOLD[1]}"
  while read -r -t 30 line <&"${HOLD[0]}" && [ "$line" != held ]; do :; done
}

@test "doctor names who locks a file, reading or writing, and what it says frees it" {
  on_sqlite
  leafctl -q add-tag order
  for statement in 'SELECT count(*) FROM leaf_alloc' "UPDATE leaf_alloc SET description = 'x'"; do
    same 'locks' '' "$(locks)"
    hold_file "$statement"
    expect 1 leafctl doctor --exit-code
    same 'locks' $'locks\tfailed\tprocess '"$hold_process ('sqlite3') has locked the file: nothing is granted" \
      "$(locks | cut -f 1-3)"
    expect 3 leafctl next order --direct --timeout 0
    contains "$stderr" "stayed locked by process $hold_process ('sqlite3')"
    $(command_in "$(hint locks)")
    wait "$hold_process" || true
    hold_process=
  done
  expect 0 leafctl next order --direct
}

@test "doctor says what frees a file that somebody has locked so that it cannot even be read" {
  on_sqlite
  leafctl -q add-tag order --step 1
  leafctl -q next order >"$BATS_TEST_TMPDIR/ids"
  hold_file 'SELECT 1' EXCLUSIVE
  expect 3 leafctl next order -n 1000 --timeout 100ms
  contains "$stderr" "see who holds a lock with 'leafctl doctor'"
  expect 1 leafctl doctor --timeout 100ms --exit-code
  contains "$output" $'connection\tfailed\tstore '
  contains "$output" "stayed locked by process $hold_process ('sqlite3')"
  # Of the buffer, whose fetch failed too, nothing else helps.
  lacks "$output" "'leafctl doctor'"
  $(command_in "$(hint connection --timeout 100ms)")
  wait "$hold_process" || true
  hold_process=
  expect 0 leafctl next order
}

@test "doctor names who locks workers, or a table" {
  on_postgresql
  leafctl -q workers acquire --worker-name web >"$BATS_TEST_TMPDIR/lease"
  hold 'UPDATE leaf_worker SET owner = owner; UPDATE leaf_meta SET layout = layout'
  contains "$(locks)" 'locks the row that new workers are counted in, worker 0: whoever needs it waits'
  let_go
  hold 'LOCK TABLE leaf_alloc IN SHARE MODE'
  contains "$(locks)" 'locks table leaf_alloc: whoever needs it waits'
  let_go
  hold 'LOCK TABLE leaf_alloc'
  expect 0 leafctl doctor --timeout 1s
  contains "$output" $'connection\tfailed\tthe store did not answer in time: process '"$holder of the server locks table leaf_alloc"
  run_sql_in "$(hint connection --timeout 1s)"
  same 'those that failed' '' "$(checks failed)"
}

# run_sql SQL
run_sql() {
  case $TEST_STORE in
    sqlite) sqlite3 "${LEAFCTL_STORE#sqlite:}" "$1" ;;
    postgresql) psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1" ;;
  esac
}

@test "doctor finds a store that fails behind its first answers, and does not call it well" {
  on_sqlite
  run_sql "UPDATE leaf_meta SET layout = 'nonsense'"
  expect 1 leafctl doctor --exit-code
  contains "$output" $'connection\tok\t'
  contains "$output" $'workers\tfailed\tno worker is leased: unknown layout \'nonsense\'\tuse leaf, '
}

# events: what the log has of tag order.
events() { leafctl log order | cut -f 4 | xargs; }

@test "doctor notices that the log of changes lacks a trigger, and what it says makes it anew" {
  leafctl -q add-tag order
  for trigger in leaf_alloc_changed:leaf_alloc leaf_event_kept:leaf_event leaf_worker_freed:leaf_worker; do
    case $TEST_STORE in
      sqlite) run_sql "DROP TRIGGER ${trigger%:*}" ;;
      postgresql) run_sql "DROP TRIGGER ${trigger%:*} ON ${trigger#*:}" ;;
    esac
  done
  leafctl -q tags update order --step 50
  same 'what is missing' 'schema: the log of changes lacks trigger leaf_alloc_changed, trigger leaf_event_kept, trigger leaf_worker_freed: changes are refused or not noted' \
    "$(checks warning | grep ^schema)"
  contains "$(leafctl init-db --dry-run)" leaf_alloc_changed
  $(command_in "$(hint schema | sed 's/.*with //')")
  lacks "$(checks warning)" schema
  leafctl -q tags update order --step 60
  same 'the events' 'add update' "$(events)"
  expect 0 leafctl init-db
  contains "$stderr" 'up to date'
}

@test "doctor notices that the log of changes is gone, and what it says makes it anew" {
  leafctl -q add-tag order
  leafctl next order >"$BATS_TEST_TMPDIR/ids"
  run_sql 'DROP TABLE leaf_event'
  contains "$(checks warning)" 'schema: the log of changes lacks table leaf_event'
  for command in 'add-tag other' 'tags update order --step 50' log; do
    expect 5 leafctl $command
    contains "$stderr" "hint: recreate the log of changes with 'leafctl init-db'"
  done
  mends=$(sed -n "s/^hint: .*'\(.*\)'$/\1/p" <<<"$stderr")
  expect 0 leafctl next order --direct
  expect 0 $mends
  contains "$stderr" 'recreated the log of changes'
  lacks "$(checks warning)" schema
  leafctl -q tags update order --step 50
  same 'the events' update "$(events)"
}

@test "doctor fails where what somebody has put on the tables refuses grants, until it is gone" {
  leafctl -q add-tag order
  leafctl next order >"$BATS_TEST_TMPDIR/ids"
  case $TEST_STORE in
    sqlite) run_sql "CREATE TRIGGER odd BEFORE UPDATE ON leaf_alloc BEGIN SELECT RAISE(IGNORE); END" ;;
    postgresql)
      run_sql "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
      run_sql 'CREATE TRIGGER odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd()'
      ;;
  esac
  expect 1 leafctl doctor --exit-code
  contains "$(checks failed)" "tags: tag 'order' draws no IDs: a trigger discards changes to table leaf_alloc"
  contains "$(hint tags)" 'drop the trigger on table leaf_alloc'
  case $TEST_STORE in
    sqlite) run_sql 'DROP TRIGGER odd' ;;
    postgresql) run_sql 'DROP TRIGGER odd ON leaf_alloc; DROP FUNCTION odd()' ;;
  esac
  expect 0 leafctl doctor --exit-code
}

@test "doctor names each trigger that is turned off, and init-db turns it on" {
  on_postgresql
  psql -qX -d "$test_database" -c 'ALTER TABLE leaf_alloc DISABLE TRIGGER ALL' -c 'ALTER TABLE leaf_worker DISABLE TRIGGER USER' \
    -c 'ALTER TABLE leaf_meta ENABLE REPLICA TRIGGER leaf_meta_other_server'
  expect 1 leafctl doctor --exit-code
  contains "$output" 'triggers, functions or keys that keep IDs from coming again are turned off or missing: leaf_alloc_counted, leaf_alloc_guarded, '
  contains "$output" ', leaf_meta_other_server, '
  contains "$output" "'leafctl init-db'"
  expect 0 leafctl init-db
  contains "$stderr" 'restored triggers, functions or keys that were off or missing'
  expect 0 leafctl doctor --exit-code
  same 'triggers that are off' 0 \
    "$(psql -AtX -d "$test_database" -c "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'")"
}

@test "doctor names a trigger that somebody dropped from a SQLite store, and init-db makes it anew" {
  on_sqlite
  leafctl -q add-tag order
  run_sql 'DROP TRIGGER leaf_alloc_never_back'
  run_sql 'DROP TRIGGER leaf_worker_never_back'
  expect 1 leafctl doctor --exit-code
  contains "$output" 'are turned off or missing: leaf_alloc_never_back, leaf_worker_never_back'
  contains "$output" "'leafctl init-db'"
  expect 0 leafctl init-db
  contains "$stderr" 'restored triggers, functions or keys that were off or missing'
  expect 0 leafctl doctor --exit-code
  if run_sql "UPDATE leaf_alloc SET max_id = 0 WHERE biz_tag = 'order'" 2>/dev/null; then return 1; fi
}

@test "doctor names the right that the guard lacks, and init-db refuses without it" {
  on_postgresql
  local role=guarded_$$ url
  psql -qX -d "$test_database" -c "CREATE ROLE $role LOGIN PASSWORD 'right'" -c 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC' \
    -c "CREATE SCHEMA own AUTHORIZATION $role"
  url="host=$PGHOST port=$PGPORT dbname=$test_database user=$role password=right options='-c search_path=own'"
  expect 5 leafctl --store "$url" init-db
  contains "$stderr" "hint: as a superuser, run 'GRANT EXECUTE ON FUNCTION pg_control_system() TO $role'"
  psql -qX -d "$test_database" -c "GRANT EXECUTE ON FUNCTION pg_control_system() TO $role"
  expect 0 leafctl --store "$url" init-db
  psql -qX -d "$test_database" -c "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM $role"
  expect 1 leafctl --store "$url" doctor --exit-code
  local remedy command
  remedy=$(grep '^identity' <<<"$output" | grep -o "GRANT[^']*")
  for command in show settle; do
    expect 5 leafctl --store "$url" failover "$command"
    contains "$stderr" "hint: as a superuser, run '$remedy'"
  done
  psql -qX -d "$test_database" -c "$remedy"
  expect 0 leafctl --store "$url" doctor --exit-code
  expect 0 leafctl --store "$url" failover settle
  psql -qX -d "$test_database" -c "DROP OWNED BY $role CASCADE" -c "DROP ROLE $role"
}
