load support

setup() { new_initialized_store; }
teardown() { remove_store; }

run_sql() {
  case $TEST_STORE in
    sqlite) sqlite3 "${LEAFCTL_STORE#sqlite:}" "$1" ;;
    postgresql) psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1" ;;
  esac
}

@test "log tells who changed tags and freed workers, and nothing of what was drawn" {
  leafctl -q add-tag order
  leafctl next order -n 5 >"$BATS_TEST_TMPDIR/ids"
  leafctl next order --direct -n 5 >"$BATS_TEST_TMPDIR/ids"
  leafctl -q tags update order --limit 99999
  leafctl -q workers acquire --worker-name web >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers release --worker-name web
  leafctl -q tags remove order --yes
  expect 0 leafctl log -o json
  same 'the events' 'add order;update order;free 0;remove order;' \
    "$(jq -j '"\(.event) \(.tag // .worker);"' <<<"$output")"
  same 'the keys' 'time who program event tag worker detail' "$(jq -r 'keys_unsorted | join(" ")' <<<"$output" | sort -u)"
  case $TEST_STORE in
    sqlite) who=$(id -un) ;;
    postgresql) who=$(run_sql 'SELECT session_user') ;;
  esac
  same 'who' "$who" "$(jq -r .who <<<"$output" | sort -u)"
  expect 0 leafctl log
  same 'the fields' 7 "$(awk -F '\t' '{ print NF }' <<<"$output" | sort -u)"
}

@test "log takes a tag and a time" {
  leafctl -q add-tag a
  leafctl -q add-tag b
  same 'of b' 'b' "$(leafctl log b | cut -f 5)"
  same 'of the last hour' 2 "$(leafctl log --since now-1h | wc -l)"
  expect 0 leafctl log --since now+1h
  prints ''
  says 'no changes'
  expect 2 leafctl log --since soon
  expect 0 leafctl log b --since now+1h
  leafctl -q tags remove b --yes
  expect 0 leafctl log b --since now+1h
  expect 4 leafctl log c
  prints ''
  says "leafctl: tag 'c' does not exist
hint: see which there are with 'leafctl tags list'"
}

@test "log names a program that says its name" {
  [ "$TEST_STORE" = postgresql ] || skip 'SQLite knows no names of programs'
  PGAPPNAME='nightly job' leafctl -q add-tag order
  same 'the program' 'nightly job' "$(leafctl log | cut -f 3)"
}

@test "log keeps the last 10,000 changes" {
  # Each 256th event looks which are to go.
  numbers='WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10239) SELECT i FROM n'
  run_sql "INSERT INTO leaf_event (who, event, detail) SELECT 'me', 'raise', i FROM ($numbers) AS numbers"
  leafctl -q add-tag order
  same 'how many are kept' 10000 "$(leafctl log | wc -l)"
  same 'the oldest' 241 "$(leafctl log | head -n 1 | cut -f 7)"
  same 'the latest' order "$(leafctl log | tail -n 1 | cut -f 5)"
}

@test "tags list tells when somebody changed a tag, and apart from that when it granted" {
  leafctl -q add-tag order
  before=$(leafctl tags show order -o json)
  same 'never granted' null "$(jq .granted <<<"$before")"
  leafctl next order >"$BATS_TEST_TMPDIR/ids"
  after=$(leafctl tags show order -o json)
  same 'updated' "$(jq .updated <<<"$before")" "$(jq .updated <<<"$after")"
  [ "$(jq -r .granted <<<"$after")" \> "$(jq -r .updated <<<"$after")" ]
}
