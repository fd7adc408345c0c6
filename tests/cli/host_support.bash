# For what several processes of a host share: stores that do not answer, go back or are made anew, and who is at work.
# shellcheck disable=SC2154 # set by support.bash
# shellcheck disable=SC2034 # read by the tests

# Ends what a test may have left, then the store.
end_host_test() {
  unlock_store
  local left
  for left in ${child:-} ${fetcher:-}; do kill -KILL "$left" 2>/dev/null || true; done
  if [ -n "${other_database:-}" ]; then dropdb --if-exists --force "$other_database"; fi
  remove_store
}

# other COMMAND...: runs it on a second store, which has the same URL as the first where that names no database.
other() {
  case $TEST_STORE in
    sqlite) LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/other.db "$@" ;;
    postgresql)
      if [ -z "${other_database:-}" ]; then
        other_database=${test_database}_other
        create_database "$other_database"
        export PGDATABASE=$test_database LEAFCTL_STORE=postgresql://
      fi
      PGDATABASE=$other_database "$@"
      ;;
  esac
}

# let_a_fetch_fail FILE: adds tag order with step 10 and draws 11 IDs into FILE; the fetch behind the last ones fails, for
# the store is locked.
let_a_fetch_fail() {
  leafctl -q add-tag order --step 10
  leafctl next order >"$1"
  until_left order 19
  lock_store
  leafctl --timeout 100ms next order -n 10 >>"$1"
  until_state_of order failing
}

# From now on no grant gets through, until unlock_store.
lock_store() {
  hold_open "BEGIN EXCLUSIVE; SELECT 'locked';" "BEGIN; LOCK TABLE leaf_alloc, leaf_worker; SELECT 'locked';"
}

# hold_open OF-SQLITE OF-POSTGRESQL: runs what begins a transaction and selects 'locked', until unlock_store.
hold_open() {
  case $TEST_STORE in
    sqlite)
      coproc LOCK { sqlite3 "$BATS_TEST_TMPDIR/leaf.db" 3>&-; }
      printf '.timeout 10000\n%s\n' "$1" >&"${LOCK[1]}"
      ;;
    postgresql)
      coproc LOCK { psql -qAtX -d "$test_database" 3>&-; }
      echo "$2" >&"${LOCK[1]}"
      ;;
  esac
  lock_process=$LOCK_PID
  local answer
  read -r -t 30 answer <&"${LOCK[0]}"
  same 'the lock' locked "$answer"
}

unlock_store() {
  [ -n "${lock_process:-}" ] || return 0
  local end='COMMIT; \q'
  [ "$TEST_STORE" = postgresql ] || end=$'COMMIT;\n.quit'
  echo "$end" >&"${LOCK[1]}"
  wait "$lock_process" || true
  lock_process=
}

# left_of TAG, buffered_state_of TAG: as status has it.
left_of() { leafctl status -o json | jq -r --arg tag "$1" 'select(.tag == $tag).left'; }
buffered_state_of() { leafctl status -o json | jq -r --arg tag "$1" 'select(.tag == $tag).state'; }

# until_prints WHAT WANTED COMMAND...: looks until the command prints it.
until_prints() {
  local what=$1 wanted=$2 looks=0
  shift 2
  until [ "$("$@")" = "$wanted" ]; do
    looks=$((looks + 1))
    if [ $looks -gt 1000 ]; then
      same "$what" "$wanted" "$("$@")"
      return 1
    fi
  done
}

# until_left TAG N, until_state_of TAG STATE: for what a detached process does in its own time.
until_left() { until_prints "what is left of tag '$1'" "$2" left_of "$1"; }
until_state_of() { until_prints "the state of tag '$1'" "$2" buffered_state_of "$1"; }

# Whoever holds a file of this test's host state open and is not a child of this shell.
fetchers() {
  find /proc/[0-9]*/fd -maxdepth 1 -lname "$LEAFCTL_RUNTIME_DIR/*" 2>/dev/null | cut -d / -f 3 | sort -u | head -n 1
}

# Looks until a detached process is at a fetch; its number goes into $fetcher.
until_fetching() {
  local looks=0
  fetcher=
  until [ -n "$fetcher" ] && [ "$(ps -o sid= -p "$fetcher" | xargs)" = "$fetcher" ]; do
    looks=$((looks + 1))
    if [ $looks -gt 500 ]; then
      echo 'nobody fetches'
      return 1
    fi
    fetcher=$(fetchers)
  done
}

until_gone() { until_prints "process $1" '' ps -o pid= -p "$1"; }
until_nobody_fetches() { until_prints 'who fetches' '' fetchers; }

back_up_store() {
  case $TEST_STORE in
    sqlite) sqlite3 "$BATS_TEST_TMPDIR/leaf.db" "VACUUM INTO '$BATS_TEST_TMPDIR/backup'" ;;
    postgresql) pg_dump -Fc -f "$BATS_TEST_TMPDIR/backup" "$test_database" ;;
  esac
}

put_store_back() {
  until_nobody_fetches  # what one commits now would be in the store that was put back
  case $TEST_STORE in
    sqlite)
      rm -f "$BATS_TEST_TMPDIR"/leaf.db-*
      cp "$BATS_TEST_TMPDIR/backup" "$BATS_TEST_TMPDIR/leaf.db"
      ;;
    postgresql)
      dropdb --force "$test_database"
      create_database "$test_database"
      pg_restore -d "$test_database" "$BATS_TEST_TMPDIR/backup"
      ;;
  esac
}

exchange_store_file() {
  rm -f "$BATS_TEST_TMPDIR"/leaf.db-*
  mv "$BATS_TEST_TMPDIR/backup" "$BATS_TEST_TMPDIR/leaf.db"
}

# An empty one in its place.
recreate_store() {
  case $TEST_STORE in
    sqlite) rm -f "$BATS_TEST_TMPDIR"/leaf.db* ;;
    postgresql)
      dropdb --force "$test_database"
      create_database "$test_database"
      ;;
  esac
}
