load support
load host_support

setup() {
  new_initialized_store
  metrics=$BATS_TEST_TMPDIR/metrics
}
teardown() { end_host_test; }

# look [OPTION...]: takes the metrics into a file, and finds nothing wrong with their form.
look() {
  leafctl status --metrics "$@" >"$metrics"
  "$BATS_TEST_DIRNAME/../support/check_metrics" "$metrics"
  if command -v promtool >/dev/null; then promtool check metrics <"$metrics"; fi
}

# value NAME [LABEL='"TEXT"'...]: of the one series that has those labels.
value() {
  local name=$1 label lines
  shift
  lines=$(grep -E "^$name[{ ]" "$metrics" || true)
  for label in "$@"; do lines=$(grep -F "$label" <<<"$lines" || true); done
  same "how many series are $name $*" 1 "$(grep -c . <<<"$lines")" >&2
  echo "${lines##* }"
}

run_sql() {
  case $TEST_STORE in
    sqlite) sqlite3 "${LEAFCTL_STORE#sqlite:}" "$1" ;;
    postgresql) psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1" ;;
  esac
}

@test "metrics tell what is drawn, buffered and left" {
  leafctl -q add-tag order --step 100 --start 11 --limit 1010
  leafctl next order -n 3 >"$BATS_TEST_TMPDIR/ids"
  look
  same 'up' 1 "$(value leafctl_store_up)"
  same 'granted' 100 "$(value leafctl_tag_granted_ids_total 'tag="order"')"
  same 'left' 997 "$(value leafctl_tag_ids_left 'tag="order"')"
  same 'buffered' 97 "$(value leafctl_buffer_ids_left 'tag="order"')"
  same 'drawn' 3 "$(value leafctl_buffer_drawn_ids_total 'tag="order"')"
  same 'fetches' 1 "$(value leafctl_buffer_fetches_total 'tag="order"')"
  same 'failures' 0 "$(value leafctl_buffer_failed_fetches_total 'tag="order"')"
  same 'the version' 1 "$(value leafctl_build_info "version=\"$(leafctl --version | cut -d ' ' -f 2)\"")"
  same 'the schema' "$(value leafctl_store_schema_version_needed)" "$(value leafctl_store_schema_version)"
  lacks "$(cat "$metrics")" leafctl_tag_seconds_left
  # What is left, divided by the pace of this host, which is told as well, after a minute of it.
  at +2m leafctl status --metrics >"$metrics"
  awk -v left=997 -v pace="$(value leafctl_buffer_ids_per_second)" -v seconds="$(value leafctl_tag_seconds_left)" \
    'BEGIN { exit !(seconds * pace > left * 0.999 && seconds * pace < left * 1.001) }'
}

@test "metrics tell of workers, windows and the layout" {
  leafctl -q init-db --layout 43,4,16
  leafctl next --snowflake >"$BATS_TEST_TMPDIR/ids"
  leafctl -q workers acquire --worker-name other >"$BATS_TEST_TMPDIR/lease"
  look
  same 'taken' 2 "$(value leafctl_workers 'state="taken"')"
  same 'free' 14 "$(value leafctl_workers 'state="free"')"
  same 'the worker' 0 "$(value leafctl_window_worker)"
  leafctl -q init-db --workers 0-7
  same 'free in the range' 6 "$(look && value leafctl_workers 'state="free"')"
  same 'leases' 1 "$(value leafctl_window_fetches_total)"
  local end
  end=$(leafctl status -o json | jq -r 'select(.worker == 0).window_end')
  same 'the end of the window' "$(date -d "$end" +%s)" "$(value leafctl_window_end_timestamp_seconds | cut -d . -f 1)"
  end=$(leafctl doctor -o json | jq 'select(.check == "layout").measures.seconds_left | floor')
  awk -v a="$end" -v b="$(value leafctl_layout_seconds_left)" 'BEGIN { exit !(b - a < 60 && a - b < 60) }'
}

@test "metrics count fetches that fail, and go on where the store is away" {
  let_a_fetch_fail "$BATS_TEST_TMPDIR/ids"
  expect 0 leafctl --timeout 100ms status --metrics
  contains "$stderr" 'leafctl: warning: '
  look --timeout 100ms
  same 'up' 0 "$(value leafctl_store_up)"
  [ "$(value leafctl_buffer_failed_fetches_total 'tag="order"')" -ge 1 ]
  [ "$(value leafctl_buffer_failures 'tag="order"')" -ge 1 ]
  same 'buffered' 9 "$(value leafctl_buffer_ids_left 'tag="order"')"
  lacks "$(<"$metrics")" leafctl_tag_ids_left
  unlock_store
  look
  same 'up' 1 "$(value leafctl_store_up)"
}

@test "metrics of a store that cannot be reached hold what the host knows, and no password" {
  export LEAFCTL_STORE=postgresql://me:secret@127.0.0.1:1/ids
  look
  same 'up' 0 "$(value leafctl_store_up)"
  lacks "$(<"$metrics")" secret
}

@test "metrics take whatever name a table holds" {
  incarnation=00000000-0000-4000-8000-000000000000
  run_sql "INSERT INTO leaf_alloc (biz_tag, max_id, step, incarnation) VALUES ('say \"no\", {a=b}' || '\\', 5, 1, '$incarnation')"
  look
  same 'granted' 4 "$(value leafctl_tag_granted_ids_total 'tag="say \"no\", {a=b}\\"')"
}

@test "metrics go with neither --watch nor --forget" {
  expect 2 leafctl status --metrics --watch
  expect 2 leafctl status --metrics --forget
}
