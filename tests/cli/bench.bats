load support

setup() { new_initialized_store; }
teardown() { remove_store; }

# field KEY: of the object in $output
field() { jq -r ".$1" <<<"$output"; }

# Nothing is left of a benchmark's own tags and workers.
nothing_is_left() {
  same 'tags' '' "$(leafctl -q tags list)"
  same 'held workers' '' "$(leafctl workers list -o json | jq -r 'select(.owner != null) | .worker')"
}

@test "bench prints one object, whose keys are the same for all that can be measured" {
  keys='bench store tag layout processes threads host_buffer batch elapsed_ms calls ids calls_per_s ids_per_s ceiling_per_s
    ceiling_share_ppm timed_calls clock_ns p50_ns p90_ns p99_ns p99_9_ns p99_99_ns max_ns violations'
  for bench in segment snowflake decode; do
    expect 0 leafctl bench $bench -n 20000 -o json
    same 'objects' 1 "$(wc -l <<<"$output")"
    same 'keys' "$(xargs <<<"$keys")" "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
    same 'the name' $bench "$(field bench)"
    same 'IDs' 20000 "$(field ids)"
    same 'calls' 20000 "$(field calls)"
    says ''
  done
  expect 0 leafctl bench store -n 3 --step 10 -o json
  same 'keys' "$(xargs <<<"$keys")" "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
  same 'grants and IDs' '3 30' "$(field calls) $(field ids)"
  nothing_is_left
}

@test "bench prints one tab-separated line in a pipe, and a report with a histogram on a terminal" {
  expect 0 leafctl bench decode -n 1000
  same 'lines' 1 "$(wc -l <<<"$output")"
  same 'fields' 24 "$(awk -F '\t' '{ print NF }' <<<"$output")"
  on_terminal 'leafctl --color never bench decode -n 1000 --batch 10'
  contains "$output" 'bench decode, layout leaf: 1 process of 1 thread, 10 IDs a call'
  contains "$output" '1,000 IDs in '
  contains "$output" 'p99.99 '
  contains "$output" '##########'
}

@test "bench shows on a terminal how it goes on, unless it is to be quiet" {
  on_terminal 'TERM=xterm leafctl bench decode --duration 1s >/dev/null'
  [[ $output =~ [0-9]\.[0-9]\ s\ \ [0-9,]+\ IDs\ \ [0-9,]+/s ]]
  on_terminal 'leafctl -q bench decode --duration 500ms >/dev/null'
  same 'the output' '' "$output"
  expect 0 leafctl bench decode --duration 500ms
  says ''
}

@test "bench --verify finds every ID of many threads and processes in order" {
  no_sanitizer tsan 'it leaves no room for a bit of each ID'
  for bench in 'segment --step 1000' 'segment --batch 100' snowflake 'snowflake --batch 100'; do
    expect 0 leafctl bench $bench --threads 3 --processes 2 -n 60000 --verify -o json
    same "violations of $bench" 0 "$(field violations)"
    same "IDs of $bench" 60000 "$(field ids)"
  done
  expect 0 leafctl bench store --threads 2 --processes 2 -n 12 --verify -o json
  same 'violations of store' 0 "$(field violations)"
  nothing_is_left
}

@test "bench --host-buffer has all processes draw from one buffer, and leaves no trace of it" {
  no_sanitizer tsan 'it leaves no room for a bit of each ID'
  for bench in 'segment --step 1000' 'segment --batch 100' snowflake 'snowflake --batch 100'; do
    expect 0 leafctl bench $bench --host-buffer --threads 3 --processes 2 -n 60000 --verify -o json
    same "violations of $bench" '0 yes' "$(field violations) $(field host_buffer)"
    same "IDs of $bench" 60000 "$(field ids)"
  done
  same 'the ceiling of one worker' 4096000 "$(field ceiling_per_s)"
  # Processes with segments of their own would have taken 1000 IDs each.
  leafctl -q add-tag order --step 1000
  expect 0 leafctl bench segment --host-buffer --tag order --processes 50 -n 50 -o json
  [ "$(leafctl tags show order -o json | jq -r .next_id)" -lt 5000 ]
  leafctl -q tags remove --yes order
  nothing_is_left
  same 'folders' '' "$(compgen -G "$LEAFCTL_RUNTIME_DIR.*" || true)"
  on_terminal 'leafctl --color never bench snowflake --host-buffer -n 1000 --verify'
  contains "$output" "bench snowflake, layout leaf, the host's buffer: 1 process of 1 thread, 1 ID a"
  contains "$output" 'a later call on this host got higher IDs'
  LEAFCTL_HOST_BUFFER=no expect 2 leafctl bench segment --host-buffer -n 10
  contains "$stderr" "leafctl: '--host-buffer' is for a host whose buffers are used"
  expect 2 leafctl bench store --host-buffer -n 10
}

@test "bench snowflake keeps its worker from others but briefly" {
  expect 0 leafctl bench snowflake --host-buffer --duration 50ms
  end=$(leafctl workers list -o json | jq -r .window_end)
  [ "$(date -d "$end" +%s)" -lt "$(date -d '1 minute' +%s)" ]
}

@test "bench --host-buffer without a place for its folder names options that it has" {
  expect 2 leafctl bench segment --host-buffer -n 10 --runtime-dir /proc/leaf
  contains "$stderr" "hint: name another folder with '--runtime-dir', or leave '--host-buffer' out"
  expect 0 leafctl bench segment --host-buffer -n 10
  expect 0 leafctl bench segment -n 10 --runtime-dir /proc/leaf
}

@test "bench snowflake names the ceiling of all its workers" {
  expect 0 leafctl bench snowflake --processes 2 -n 1000 -o json
  same 'the ceiling' 8192000 "$(field ceiling_per_s)"
  same 'the layout' leaf "$(field layout)"
  expect 2 leafctl bench snowflake -n 1 --layout twitter
  contains "$stderr" "the store's layout is 'leaf', but this host expects 'twitter'"
}

@test "bench draws from a tag that it is told, and leaves it there" {
  leafctl -q add-tag order --step 100
  expect 0 leafctl bench segment --tag order -n 5000 --verify -o json
  same 'the tag' order "$(field tag)"
  [ "$(leafctl next order)" -gt 5000 ]
  expect 2 leafctl bench segment --tag order --step 5
  says "leafctl: '--step' is for a tag of its own, not for '--tag'"
  expect 4 leafctl bench segment --tag other
  contains "$stderr" "tag 'other' does not exist"
  expect 2 leafctl bench store --tag 'a b'
}

@test "bench says what ends a tag, and prints nothing" {
  leafctl -q add-tag order --limit 5000
  expect 6 leafctl bench segment --tag order -n 10000 --processes 2
  prints ''
  contains "$stderr" "tag 'order'"
}

@test "Ctrl-C ends a benchmark with what there is so far, and leaves nothing behind" {
  env --default-signal=INT leafctl bench segment --duration 1h --processes 2 --verify -o json \
    >"$BATS_TEST_TMPDIR/report" 3>&- &
  bench=$!
  # A third segment of each process means that drawing is well under way.
  until [ "$(leafctl tags list -o json | jq -r '.next_id // "0"')" -gt 6000000 ]; do kill -0 "$bench"; done
  kill -INT "$bench"
  ended=0
  wait "$bench" || ended=$?
  same 'the status' 130 "$ended"
  output=$(cat "$BATS_TEST_TMPDIR/report")
  [ "$(field ids)" -gt 1000000 ]
  same 'violations' 0 "$(field violations)"
  nothing_is_left
}

@test "bench refuses what it cannot do" {
  expect 2 leafctl bench
  contains "$stderr" 'Usage: leafctl bench COMMAND'
  expect 2 leafctl bench segmnt
  contains "$stderr" "did you mean 'bench segment'?"
  expect 2 leafctl bench decode --threads 0
  says "leafctl: '-t' takes a number from 1 to 128, not '0'"
  expect 2 leafctl bench decode --processes 65
  expect 2 leafctl bench decode --batch 1000001
  expect 2 leafctl bench decode -n 0
  expect 2 leafctl bench decode --duration 2
  expect 2 leafctl bench decode -n 5 --duration 2s
  says "leafctl: '--count' and '--duration' exclude each other"
  expect 2 leafctl bench decode --verify
  contains "$stderr" "unknown option '--verify'"
}

@test "bench without a store says so, and decode needs none" {
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/none.db
  for bench in segment snowflake store; do
    expect 2 leafctl bench $bench -n 10
    same 'lines' 2 "$(wc -l <<<"$stderr")"
    contains "$stderr" "hint: create it with 'leafctl init-db'"
  done
  expect 0 leafctl bench decode -n 10
}

@test "a tag that a benchmark leaves behind is named with the command that removes it" {
  [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'
  leafctl --timeout 1s bench segment -n 1000000000000 >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/why" 3>&- &
  local bench=$! answer status=0
  until [ -n "$(leafctl -q tags list)" ]; do kill -0 "$bench"; done
  coproc LOCK { stdbuf -oL sqlite3 "$BATS_TEST_TMPDIR/leaf.db" 3>&-; }
  printf '%s\n' '.timeout 60000' "BEGIN EXCLUSIVE; SELECT 'locked';" >&"${LOCK[1]}"
  read -r -t 60 answer <&"${LOCK[0]}"
  same 'the lock' locked "$answer"
  local lock_process=$LOCK_PID
  wait "$bench" || status=$?
  printf 'COMMIT;\n.quit\n' >&"${LOCK[1]}"
  wait "$lock_process" || true
  same 'the status' 3 "$status"
  contains "$(cat "$BATS_TEST_TMPDIR/why")" ' is left in the store: '
  expect 0 $(sed -n "s/^hint: remove it with '\(.*\)'$/\1/p" "$BATS_TEST_TMPDIR/why")
  nothing_is_left
}

@test "where there is no room for so many processes or threads, fewer of them go on" {
  [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'
  [ "$(id -u)" -eq 0 ] || skip 'needs root, to be somebody else'
  local user=$((70000 + $$ % 5000))
  chmod 777 "$BATS_TEST_TMPDIR" "$HOME"
  chmod 755 "$BATS_RUN_TMPDIR"
  chmod 666 "$BATS_TEST_TMPDIR/leaf.db"
  chmod 666 "$BATS_TEST_TMPDIR/leaf.db-journal"
  crowded() { setpriv --reuid $user --clear-groups bash -c 'ulimit -u 12; exec leafctl "$@"' bash "$@"; }
  crowded --version || skip 'other users cannot run the program'
  expect 1 crowded bench segment -n 1000 --processes 40
  says 'leafctl: cannot fork: Resource temporarily unavailable
hint: try fewer processes'
  expect 0 crowded bench segment -n 1000 --processes 2
  expect 1 crowded bench decode -n 1000 --threads 40
  says 'leafctl: cannot start a thread: Resource temporarily unavailable
hint: try fewer threads or processes'
  expect 0 crowded bench decode -n 1000 --threads 2
}

@test "without memory to check IDs in, a benchmark goes on unchecked, or with more" {
  [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'
  runs_within 200000
  expect 1 bash -c 'ulimit -v 200000; leafctl bench segment -n 1000 --verify'
  says "leafctl: no memory to check IDs in: Cannot allocate memory
hint: leave '--verify' out, or allow more memory, see 'ulimit -v'"
  expect 0 bash -c 'ulimit -v 200000; leafctl bench segment -n 1000'
  expect 0 bash -c 'ulimit -v unlimited; leafctl bench segment -n 1000 --verify'
}
