load support
load host_support

setup() {
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
}
teardown() { end_host_test; }

@test "without a timeout a store that is away is tried once" {
  local timeout
  for timeout in 0 0s; do
    expect 3 leafctl --store postgresql://127.0.0.1:1/ids --timeout $timeout next order
    prints ''
    contains "$stderr" 'Connection refused'
    lacks "$stderr" 'could not fetch'
  done
  leafctl -q add-tag order
  same 'an ID' 1 "$(leafctl --timeout 0 next order)"
  expect 0 leafctl --timeout 0 next order -n 5000 --ranges
  expect 0 leafctl --timeout 0 next --snowflake
  expect 0 leafctl --timeout 0 tags update order --raise-to 100000
  expect 0 leafctl --timeout 0 tags list
}

@test "many calls draw from one buffer: the store grants a few segments, and no ID is lost in between" {
  leafctl -q add-tag order --step 1000
  for _ in {1..150}; do leafctl next order; done >"$ids"
  seq 1 150 | diff - "$ids"
  same 'what the store granted' 2001 "$(until_left order 1850 && leafctl tags show order -o json | jq -r .next_id)"
}

@test "order is kept on a host between single calls and calls for many" {
  leafctl -q add-tag order --step 10
  for count in 1 5 100 1 30 1 1 2500 1 7 1 19 21 1; do leafctl next order -n "$count"; done >"$ids"
  all_different 2689 "$ids"
  increasing "$ids"
}

@test "a call for more than is buffered gets the rest in one piece" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  leafctl next order --direct -n 5 >>"$ids"
  expect 0 leafctl next order -n 1000 --ranges
  prints $'2\t20\n26\t1006'
  same 'the next' 1007 "$(leafctl next order)"
}

@test "a loop in four shells, and one that asks for many: no ID twice, each in order" {
  leafctl -q add-tag order --step 20
  for loop in 1 2 3 4; do
    for _ in {1..60}; do leafctl next order; done >"$ids.$loop" &
  done
  for _ in {1..20}; do leafctl next order -n 100; done >"$ids.5" &
  wait
  all_different 2240 "$ids".?
  for loop in 1 2 3 4 5; do increasing "$ids.$loop"; done
}

@test "two stores on one host keep apart" {
  leafctl -q add-tag order --start 1 --step 5
  other leafctl -q init-db
  other leafctl -q add-tag order --start 1000000 --step 5
  for _ in {1..25}; do
    leafctl next order >>"$ids.1"
    other leafctl next order >>"$ids.2"
  done
  seq 1 25 | diff - "$ids.1"
  seq 1000000 1000024 | diff - "$ids.2"
  same 'the buffers' 2 "$(leafctl status -o json | jq -s length)"
}

@test "a relative URL of a store and the full one are the same store" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  leafctl -q add-tag order
  cd "$BATS_TEST_TMPDIR"
  same 'by full path' 1 "$(leafctl next order)"
  same 'by relative path' 2 "$(leafctl --store sqlite:leaf.db next order)"
  same 'by a dot' 3 "$(leafctl --store sqlite:./../"$(basename "$BATS_TEST_TMPDIR")"/leaf.db next order)"
}

@test "--no-host-buffer, its variable and its key in a file go to the store and buffer nothing" {
  leafctl -q add-tag order --step 10
  same 'the first' 1 "$(leafctl next order --no-host-buffer)"
  same 'the second' 2 "$(LEAFCTL_HOST_BUFFER=no leafctl next order)"
  mkdir -p "$HOME/.config/leafctl"
  echo 'host_buffer: no' >"$HOME/.config/leafctl/leafctl.yaml"
  same 'the third' 3 "$(leafctl next order)"
  leafctl next --snowflake >/dev/null
  same 'buffers' '' "$(find "$LEAFCTL_RUNTIME_DIR" -name 'tag-*' -o -name 'worker-*')"
  expect 0 leafctl status
  says "this host's buffers are not used: see 'leafctl show-config'"
  expect 0 env LEAFCTL_HOST_BUFFER=yes leafctl next order
  same 'buffers' 1 "$(find "$LEAFCTL_RUNTIME_DIR" -name 'tag-*' | wc -l)"
}

@test "a relative runtime folder is refused, as is one that cannot be" {
  leafctl -q add-tag order
  expect 2 leafctl next order --runtime-dir run
  says "leafctl: '--runtime-dir' takes a folder's full path, not 'run'"
  expect 2 leafctl next order --runtime-dir "$BATS_TEST_TMPDIR/no/such/folder"
  contains "$stderr" 'hint: name another one with --runtime-dir, or go without with --no-host-buffer'
  expect 2 leafctl next order --runtime-dir /proc/sys
  contains "$stderr" 'is not on a file system in memory (tmpfs)'
  expect 0 leafctl next order --no-host-buffer --runtime-dir /proc/sys
}

@test "tags remove reaches this host's buffer at once, and a tag added again goes on higher" {
  leafctl -q add-tag order --step 100
  leafctl next order >"$ids"
  leafctl -q tags remove order --yes
  expect 4 leafctl next order
  prints ''
  leafctl -q add-tag order --step 100
  for _ in 1 2 3; do leafctl next order; done >>"$ids"
  all_different 4 "$ids"
  increasing "$ids"
}

@test "--raise-to reaches this host's buffer at once, and a lower one takes nothing from it" {
  leafctl -q add-tag order --step 100
  same 'the first' 1 "$(leafctl next order)"
  leafctl -q tags update order --raise-to 2
  same 'the second' 2 "$(leafctl next order)"
  leafctl -q tags update order --raise-to 5000
  same 'the next' 5000 "$(leafctl next order)"
}

@test "the last IDs up to a limit are given, then the status is 6 until the limit is raised" {
  leafctl -q add-tag order --step 10 --limit 25
  for _ in {1..25}; do leafctl -q next order; done >"$ids"
  seq 1 25 | diff - "$ids"
  for _ in 1 2 3; do
    expect 6 leafctl next order
    prints ''
  done
  leafctl -q tags update order --limit 26
  same 'one more' 26 "$(leafctl -q next order)"
  expect 6 leafctl -q next order
}

@test "a new step is seen at the next fetch" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  leafctl -q tags update order --step 500
  leafctl next order -n 10 >>"$ids"
  until_left order 509
  seq 1 11 | diff - "$ids"
}

@test "status tells what is buffered, for people, pipes and programs" {
  expect 0 leafctl status
  prints ''
  says "nothing is buffered in '$LEAFCTL_RUNTIME_DIR'"
  leafctl -q add-tag order --step 100
  leafctl next order -n 3 >"$ids"
  leafctl next --snowflake --worker-name here >>"$ids"
  until_left order 97
  expect 0 leafctl status
  same 'fields of a tag' 9 "$(awk -F '\t' '$1 == "order" { print NF }' <<<"$output")"
  same 'fields of a worker' 8 "$(awk -F '\t' '$2 == "here" { print NF }' <<<"$output")"
  expect 0 leafctl status -o json
  same 'the tag' '4 100 ok' "$(jq -r 'select(.tag == "order") | "\(.next_id) \(.step) \(.state)"' <<<"$output")"
  same 'the worker' '0 leaf ok' "$(jq -r 'select(.owner == "here") | "\(.worker) \(.layout) \(.state)"' <<<"$output")"
  same 'the ID is' string "$(jq -r 'select(.tag == "order").next_id | type' <<<"$output")"
  lock_store
  leafctl --timeout 100ms next order -n 500 2>/dev/null || true
  leafctl --timeout 100ms next order -n 98 >>"$ids" || true
  unlock_store
  on_terminal 'leafctl status --color never'
  same 'lines of numbers that are too wide' '' "$(grep -v '^    ' <<<"$output" | grep -E '^.{81}' || true)"
  contains "$output" '    store: '
  contains "$output" '    failure: '
  contains "$output" next_id
  contains "$output" order
  on_terminal 'leafctl status -o json'
  same 'the lines' 2 "$(grep -c . <<<"$output")"
  same 'empty lines' 0 "$(grep -c '^$' <<<"$output")"
}

@test "status looks only: it neither takes an ID nor asks a store nor makes a folder" {
  expect 0 leafctl status
  [ ! -e "$LEAFCTL_RUNTIME_DIR" ]
  leafctl -q add-tag order --step 100
  leafctl next order >"$ids"
  for _ in {1..10}; do leafctl --store sqlite:/no/such/store status >/dev/null; done
  same 'the next' 2 "$(leafctl next order)"
}

@test "status --watch goes on until its reader goes" {
  leafctl -q add-tag order --step 100
  leafctl next order >"$ids"
  run bash -c 'env --default-signal=PIPE leafctl status --watch --interval 10ms -o json | head -n 3 | jq -s length; echo "${PIPESTATUS[0]}"'
  same 'three looks' 3 "${lines[0]}"
  same 'how it ended' 141 "${lines[1]}"
  same 'its words' 2 "${#lines[@]}"
}

@test "SIGINT, SIGTERM and SIGHUP end status --watch by the signal, at once" {
  leafctl -q add-tag order --step 100
  leafctl next order >"$ids"
  for signal in INT:130 TERM:143 HUP:129; do
    for interval in 10ms 24h; do
      mkfifo "$BATS_TEST_TMPDIR/pipe"
      env --default-signal leafctl status --watch --interval "$interval" >"$BATS_TEST_TMPDIR/pipe" 3>&- &
      child=$!
      exec 9<"$BATS_TEST_TMPDIR/pipe"
      read -r line <&9
      contains "$line" order
      eventually grep -q '^State:.S' "/proc/$child/status"
      kill "-${signal%:*}" "$child"
      # It holds the pipe until it ends.
      timeout 20 cat <&9 >/dev/null || kill -KILL "$child"
      exec 9<&-
      ended=0
      wait "$child" || ended=$?
      same "the status after ${signal%:*} at $interval" "${signal#*:}" "$ended"
      rm "$BATS_TEST_TMPDIR/pipe"
    done
  done
}

@test "status shows a fetch that fails, and what is left meanwhile" {
  let_a_fetch_fail "$ids"
  expect 0 leafctl status -o json
  same 'what is left' 9 "$(jq .left <<<"$output")"
  lacks "$(jq .failure <<<"$output")" null
  unlock_store
  leafctl next order -n 10 >>"$ids"
  seq 1 21 | diff - "$ids"
  until_state_of order ok
}

@test "while the store does not answer, calls go on without delay; then the status is 3 in time; then IDs come again" {
  leafctl -q add-tag order --step 200
  leafctl next order -n 20 >"$ids"
  until_left order 380
  lock_store
  largest=0
  for _ in {1..300}; do
    begin=${EPOCHREALTIME/./}
    leafctl --timeout 1s next order
    took=$((${EPOCHREALTIME/./} - begin))
    [ $took -le $largest ] || largest=$took
  done >>"$ids"
  echo "# 300 calls with the store away: the slowest took $((largest / 1000)) ms" >&3
  [ $largest -lt 20000000 ]
  leafctl --timeout 100ms next order -n 80 >>"$ids"
  for _ in 1 2 3; do
    begin=${EPOCHREALTIME/./}
    expect 3 leafctl --timeout 100ms next order
    [ $((${EPOCHREALTIME/./} - begin)) -lt 20000000 ]
    prints ''
  done
  until_nobody_fetches  # who has waited for long loses the turn to publish, and with it the segment
  unlock_store
  leafctl --timeout 60s next order >>"$ids"
  seq 1 401 | diff - "$ids"
}

@test "\$(leafctl next) returns although the fetch behind it hangs, and that holds nothing of its caller's" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  lock_store
  exec 9>"$BATS_TEST_TMPDIR/nine"
  got=$(leafctl --timeout 60s next order -n 10 | xargs)
  same 'the IDs' "$(seq 2 11 | xargs)" "$got"
  until_fetching
  for stream in 0 1 2; do same "its stream $stream" /dev/null "$(readlink "/proc/$fetcher/fd/$stream")"; done
  lacks "$(find "/proc/$fetcher/fd" -type l -printf '%l\n')" "$BATS_TEST_TMPDIR/nine"
  same 'its session' "$fetcher" "$(ps -o sid= -p "$fetcher" | xargs)"
  exec 9>&-
  unlock_store
  until_left order 29
}

@test "a fetch that is stopped lets one other wait, but not to its timeout; once it goes on it gives nothing" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  lock_store
  leafctl --timeout 60s next order -n 10 >>"$ids"
  until_fetching
  kill -STOP "$fetcher"
  unlock_store
  leafctl next order -n 9 >>"$ids"
  for _ in {1..12}; do leafctl next order; done >>"$ids"
  leafctl next order -n 5000 >>"$ids"
  expect 0 leafctl tags update order --raise-to 100000
  lacks "$stderr" warning
  leafctl next order >>"$ids"
  kill -CONT "$fetcher"
  until_gone "$fetcher"
  leafctl next order -n 30 >>"$ids"
  all_different 5063 "$ids"
  increasing "$ids"
}

@test "a removed file, also in the middle of many calls, only makes a gap" {
  leafctl -q add-tag order --step 10
  for loop in 1 2; do
    for _ in {1..60}; do leafctl next order; done >"$ids.$loop" &
  done
  for _ in {1..40}; do
    rm -f "$LEAFCTL_RUNTIME_DIR"/tag-*
    leafctl next order
  done >"$ids.3"
  wait
  all_different 160 "$ids".?
}

# draw_one_by_one: prints five IDs, and leaves the fetch that comes behind one its turn to publish.
draw_one_by_one() {
  for _ in {1..5}; do
    leafctl next order
    until_nobody_fetches
  done
}

# restored HOW: draws, puts the store back to a copy of before, and draws on until the status is not 0.
restored() {
  leafctl -q add-tag order --step 10
  draw_one_by_one >"$ids"
  until_left order 15
  back_up_store
  leafctl next order -n 200000 >>"$ids"
  draw_one_by_one >>"$ids"
  # A fetch in the background that is not over would write its grant into the copy that is put in its place.
  until_left order 55
  "$1"
  # Its guard would leave out more than was granted since, or by chance less.
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  ended=0
  for _ in {1..100}; do
    leafctl next order >>"$ids" 2>"$BATS_TEST_TMPDIR/why" || ended=$?
    [ $ended -eq 0 ] || break
  done
  same 'the status' 5 $ended
  contains "$(cat "$BATS_TEST_TMPDIR/why")" " with 'leafctl tags update order --raise-to "
  for options in '-n 100000' --direct --no-host-buffer '--direct -n 7'; do
    # shellcheck disable=SC2086 # several words
    expect 5 leafctl next order $options
    prints ''
  done
  same 'what doctor says' 1 "$(leafctl doctor -o json | jq -r 'select(.state == "failed") | .check' | grep -c tags)"
  # Literally what the hint says.
  eval "$(sed -n "s/^hint: raise it to [0-9]* with '\\([^']*\\)'.*/\\1/p" "$BATS_TEST_TMPDIR/why")"
  for _ in {1..5}; do leafctl next order; done >>"$ids"
  all_different "$(wc -l <"$ids")" "$ids"
  increasing "$ids"
}

@test "a store that is put back to a copy of before is found out, and its hint mends it" { restored put_store_back; }

@test "a store whose file is exchanged for a copy of before is found out, and its hint mends it" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  restored exchange_store_file
}

# Whether a worker's file that is not among $known is locked.
is_new_and_locked() {
  local file
  for file in "$LEAFCTL_RUNTIME_DIR"/worker-*; do [[ $known == *"$file"* ]] || break; done
  grep -q "OFDLCK .* WRITE .*:$(stat -c %i "$file") " /proc/locks
}

@test "a call that waits for the fetch of a process that is stopped names it, and is served once that goes on" {
  leafctl next --snowflake --worker-name a >"$ids"
  known=$(echo "$LEAFCTL_RUNTIME_DIR"/worker-*)
  lock_store
  leafctl --timeout 60s next --snowflake --worker-name b --worker-id 7 >>"$ids" 3>&- &
  local fetcher=$!
  # A file that it has locked while it asks the store.
  eventually is_new_and_locked
  kill -STOP "$fetcher"
  unlock_store
  expect 3 leafctl --timeout 100ms next --snowflake --worker-name b --worker-id 7
  named=$(sed -n 's/^hint: process \([0-9]*\) of this host is fetching it; if it is stopped, let it go on with .*$/\1/p' <<<"$stderr")
  same 'the process' "$fetcher" "$named"
  expect 3 leafctl --timeout 100ms status --forget "$LEAFCTL_STORE"
  contains "$stderr" "hint: process $fetcher of this host is fetching it"
  kill -CONT "$named"
  wait "$fetcher"
  leafctl next --snowflake --worker-name b --worker-id 7 >>"$ids"
  all_different 3 "$ids"
}

# Locks the buffer of the only tag, as a process does that is stopped while it fetches, until $fetcher is killed.
lock_buffer() {
  coproc HOLD {
    exec 3>&-
    exec python3 -c 'import fcntl, struct, sys
file = open(sys.argv[1], "r+b")
fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("locked", flush=True)
sys.stdin.read()' "$LEAFCTL_RUNTIME_DIR"/tag-*
  }
  fetcher=$HOLD_PID
  local answer
  read -r -t 30 answer <&"${HOLD[0]}"
  same 'the lock' locked "$answer"
}

# is_done_again STATUS COMMAND...: runs it while the buffer of tag order is locked, which ends with that status, and again.
is_done_again() {
  local first=$1
  shift
  leafctl -q add-tag order --step 1000
  same 'the first ID' 1 "$(leafctl next order)"
  lock_buffer
  expect "$first" "$1" --timeout 1s "${@:2}"  # the store answers in less, however busy the machine
  contains "$stderr" 'what this host has buffered could not be dropped within 1s'
  kill -KILL "$fetcher"
  wait "$fetcher" 2>/dev/null || true
  expect 0 "$@"
}

@test "an import that could not drop what lies below drops it when it is made again" {
  echo order,5000,1000, >"$BATS_TEST_TMPDIR/order.csv"
  is_done_again 0 leafctl tags import "$BATS_TEST_TMPDIR/order.csv"
  same 'the next ID' 5000 "$(leafctl next order)"
}

@test "a removal that could not drop a tag's buffer drops it when it is made again" {
  is_done_again 0 leafctl tags remove order --yes
  says "tag 'order' had been removed; discarded what this host had buffered"
  expect 4 leafctl next order
  expect 4 leafctl tags remove order --yes
}

@test "a store whose buffers could not be dropped is forgotten when that is asked again" {
  is_done_again 3 leafctl status --forget "$(leafctl show-config -o json | jq -r 'select(.key == "store").value')"
  says 'discarded 1 buffer'
}

@test "a process of another container that is stopped in a fetch is not named by its number there" {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  unshare --pid --fork true 2>/dev/null || skip 'no namespaces of PIDs'
  leafctl next --snowflake --worker-name a >"$ids"
  known=$(echo "$LEAFCTL_RUNTIME_DIR"/worker-*)
  lock_store
  unshare --pid --fork leafctl --timeout 60s next --snowflake --worker-name b --worker-id 7 >>"$ids" 3>&- &
  local container=$! fetcher
  eventually is_new_and_locked
  fetcher=$(pgrep -P "$container")
  kill -STOP "$fetcher"
  unlock_store
  expect 3 leafctl --timeout 100ms next --snowflake --worker-name b --worker-id 7
  contains "$stderr" 'hint: a process that is not seen from here, such as one of another container, is fetching it; if it is stopped, let it go on or kill it'
  lacks "$stderr" 'process 1 '
  kill -CONT "$fetcher" "$container"
  wait "$container"
  leafctl next --snowflake --worker-name b --worker-id 7 >>"$ids"
  all_different 3 "$ids"
}

@test "a benchmark of a tag that others draw from makes no store that went back pass, and is remembered" {
  leafctl -q add-tag order --step 10
  back_up_store
  leafctl next order --direct -n 50 >/dev/null
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  for bench in store segment 'segment --host-buffer'; do expect 5 leafctl bench $bench --tag order -n 5; done
  expect 5 leafctl next order --direct
  leafctl -q tags update order --raise-to 51
  expect 0 leafctl bench store --tag order -n 5
  expect 0 leafctl bench segment --tag order -n 5
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  expect 5 leafctl next order --direct
  raised=$(sed -n 's/^hint: raise it to \([0-9]*\) .*/\1/p' <<<"$stderr")
  [ "$raised" -gt 100 ]
}

@test "what mends a store that went back is looked for where a group draws, if one does" {
  leafctl -q add-tag order --step 10
  back_up_store
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/of_group
  leafctl next order --group --direct >"$ids"
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  expect 5 leafctl next order --group --direct
  contains "$stderr" "'leafctl tags update order --raise-to 2 --group'; if a check of the store with 'leafctl doctor --group' names"
  leafctl -q tags update order --raise-to 2 --group
  leafctl next order --group --direct >>"$ids"
  all_different 2 "$ids"
}

@test "each command that looks for what a store lost finds the record of a group" {
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/of_group
  leafctl -q add-tag kept --step 10 --group
  back_up_store
  leafctl -q add-tag order --step 10 --group
  for tag in kept order; do leafctl next $tag --group --direct -n 25 >"$ids"; done
  leafctl -q workers acquire --group --worker-name before >"$ids"
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  expect 4 leafctl next order --group
  contains "$stderr" "'leafctl add-tag order --start 26 --group'"
  contains "$stderr" "'leafctl tags show order --group'"
  expect 4 leafctl tags show order --group
  contains "$stderr" 'granted before, up to 25'
  expect 5 leafctl add-tag order --group
  expect 5 leafctl tags export --group kept
  prints ''
  # A server that was put back leases no worker for now.
  if [ "$TEST_STORE" = sqlite ]; then expect 5 leafctl workers acquire --group --worker-name after; fi
  expect 0 leafctl add-tag order --start 26 --group
}

@test "what mends a store that went back spares what other hosts have buffered" {
  leafctl -q add-tag order --step 10
  back_up_store
  local host hosts=("$LEAFCTL_RUNTIME_DIR" "$BATS_TEST_TMPDIR/other_host")
  for host in "${hosts[@]}"; do
    LEAFCTL_RUNTIME_DIR=$host leafctl next order >>"$ids"
    LEAFCTL_RUNTIME_DIR=$host until_left order 19
  done
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  expect 5 leafctl next order --direct
  contains "$stderr" "hint: raise it to 21 with 'leafctl tags update order --raise-to 21'; if a check of the store with 'leafctl doctor' names a higher number on another host, as another user, or for another runtime folder, use that one: "
  local highest
  highest=$(for host in "${hosts[@]}"; do
    LEAFCTL_RUNTIME_DIR=$host leafctl doctor
  done | sed -n "s/.*run 'leafctl tags update order --raise-to \([0-9]*\)', with a higher .*/\1/p" | sort -n | tail -n 1)
  same 'the highest' 41 "$highest"
  leafctl -q tags update order --raise-to "$highest"
  for host in "${hosts[@]}"; do LEAFCTL_RUNTIME_DIR=$host leafctl next order -n 30 >>"$ids"; done
  all_different 62 "$ids"
}

# warnings_of_buffers: what doctor warns of there.
warnings_of_buffers() { leafctl doctor -o json | jq -r 'select(.check == "host_buffer" and .state != "ok").detail'; }

@test "buffers of a copy that is gone are told as such, count for nothing and are forgotten" {
  leafctl -q add-tag order --step 10 --limit 1000
  back_up_store
  leafctl next order >"$ids"
  until_left order 19
  leafctl next --snowflake >"$ids.1"
  if [ "$TEST_STORE" = postgresql ]; then
    put_store_back
    leafctl -q init-db --guard-steps 0
  else
    until_nobody_fetches
    exchange_store_file
  fi
  # Which notices that the name leads to another copy, as a call does within a minute.
  leafctl status --metrics >"$BATS_TEST_TMPDIR/metrics"
  same 'what is buffered' '' "$(sed -n 's/^leafctl_buffer_ids_left{.*} //p' "$BATS_TEST_TMPDIR/metrics")"
  expect 5 leafctl next order
  same 'the states' $'former 19\nfailing 0' \
    "$(leafctl status -o json | jq -r 'select(.tag) | "\(.state) \(.left)"' | sort -r)"
  contains "$(warnings_of_buffers)" 'the last fetch of tag '
  leafctl -q tags update order --raise-to 31
  same 'what is wrong with buffers' '' "$(warnings_of_buffers)"
  contains "$(leafctl doctor)" 'the store answers now'
  leafctl next order >>"$ids"
  until_state_of_one_be_ok
  all_different 2 "$ids"
  local buffered left
  buffered=$(leafctl status -o json | jq 'select(.state == "ok" and .tag).left')
  left=$((1000 - $(leafctl tags show order -o json | jq -r .next_id) + 1 + buffered))
  leafctl status --metrics >"$BATS_TEST_TMPDIR/metrics"
  same 'what is buffered' "$buffered" "$(sed -n 's/^leafctl_buffer_ids_left{.*} //p' "$BATS_TEST_TMPDIR/metrics")"
  same 'what is left' "$left" "$(sed -n 's/^leafctl_tag_ids_left{.*} //p' "$BATS_TEST_TMPDIR/metrics")"
  contains "$(leafctl doctor)" "of a copy of its store to which no name leads any more; 'leafctl status --forget' discards them"
  expect 0 leafctl status --forget
  contains "$stderr" 'discarded 2 buffers'
  same 'the states' ok "$(leafctl status -o json | jq -r .state)"
}

# No fetch is under way, and the one before was good.
until_state_of_one_be_ok() {
  until_nobody_fetches
  contains "$(leafctl status -o json | jq -r .state)" ok
}

@test "doctor knows that a store is well again before the next fetch does" {
  let_a_fetch_fail "$ids"
  unlock_store
  same 'the state' failing "$(buffered_state_of order)"
  same 'what is wrong with buffers' '' "$(warnings_of_buffers)"
  contains "$(leafctl doctor)" 'the store answers now'
  leafctl doctor --exit-code
  # Of a store that was not asked nothing better is known.
  contains "$(LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/none.db warnings_of_buffers)" "of tag 'order'"
  # What the tag itself lacks stays.
  leafctl -q tags remove --yes order
  contains "$(warnings_of_buffers)" "of tag 'order'"
}

@test "doctor names the tags that a store lost, and its hint brings them back without a repeat" {
  leafctl -q add-tag kept
  back_up_store
  leafctl -q add-tag order --step 10
  leafctl -q add-tag unused
  leafctl -q add-tag gone
  leafctl next gone >"$ids.gone"
  leafctl -q tags remove --yes gone
  local host hosts=("$LEAFCTL_RUNTIME_DIR" "$BATS_TEST_TMPDIR/other_host")
  for host in "${hosts[@]}"; do
    LEAFCTL_RUNTIME_DIR=$host leafctl next order >>"$ids"
    LEAFCTL_RUNTIME_DIR=$host until_left order 19
  done
  leafctl doctor --exit-code
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  expect 1 leafctl doctor --exit-code -o json
  same 'the lost tags' $'gone\norder' \
    "$(jq -r 'select(.check == "tags" and .state == "failed").subject' <<<"$output" | sort)"
  same 'where it may begin' 21 "$(jq 'select(.subject == "order" and .state == "failed").measures.start' <<<"$output")"
  contains "$output" "tag 'order' is gone from the store, but IDs of it were granted before, up to 20: the store has gone back"
  expect 2 leafctl doctor --format nagios
  local highest
  highest=$(for host in "${hosts[@]}"; do
    LEAFCTL_RUNTIME_DIR=$host leafctl doctor
  done | sed -n "s/.*run 'leafctl add-tag order --start \([0-9]*\)', with a higher .*/\1/p" | sort -n | tail -n 1)
  same 'the highest' 41 "$highest"
  leafctl -q add-tag order --start "$highest" --step 10
  for host in "${hosts[@]}"; do LEAFCTL_RUNTIME_DIR=$host leafctl next order -n 30 >>"$ids"; done
  all_different 62 "$ids"
  same 'what is left to do' gone "$(leafctl doctor -o json | jq -r 'select(.check == "tags" and .state == "failed").subject')"
}

@test "tags that a store lost are neither added nor imported below what was granted, and the hints mend it" {
  back_up_store
  for tag in bill order; do
    leafctl -q add-tag $tag --step 10
    leafctl next $tag -n 25 >"$ids.$tag"
  done
  leafctl tags export >"$BATS_TEST_TMPDIR/older.yaml"
  leafctl next order -n 500 >>"$ids.order"
  leafctl next bill -n 500 >>"$ids.bill"
  leafctl -q tags update order --step 7
  put_store_back
  expect 5 leafctl add-tag order --start 5
  contains "$stderr" "tag 'order' does not exist, but IDs of it were granted before, up to "
  expect 5 leafctl tags import --dry-run "$BATS_TEST_TMPDIR/older.yaml"
  expect 5 leafctl tags import "$BATS_TEST_TMPDIR/older.yaml"
  prints ''
  contains "$stderr" "leafctl: 2 of the tags in '$BATS_TEST_TMPDIR/older.yaml' would begin below what was granted, so nothing was changed"
  same 'tags' 0 "$(leafctl tags list | wc -l)"
  # Literally what the hints say.
  sed -n "s/^hint: add it to go on from [0-9]* with '\([^']*\)', or from a higher number that .* names on another host, as another user, or for another runtime folder.*/\1/p" <<<"$stderr" >"$BATS_TEST_TMPDIR/mend"
  same 'hints' 2 "$(wc -l <"$BATS_TEST_TMPDIR/mend")"
  bash -e "$BATS_TEST_TMPDIR/mend"
  expect 0 leafctl tags import "$BATS_TEST_TMPDIR/older.yaml"
  same 'the steps' '10 10' "$(leafctl tags list -o json | jq -r .step | xargs)"
  for tag in bill order; do
    for _ in 1 2 3; do leafctl next $tag -n 7; done >>"$ids.$tag"
    all_different 546 "$ids.$tag"
  done
}

@test "tags of a store that has gone back are not exported, and the hints mend it" {
  local tag
  for tag in order gone 'other'; do leafctl -q add-tag "$tag" --step 10; done
  leafctl -q tags remove --yes gone
  back_up_store
  leafctl -q add-tag new --step 10
  leafctl -q add-tag gone --step 10
  for tag in order new gone; do leafctl next "$tag" -n 25 >"$ids.$tag"; done
  leafctl -q tags remove --yes gone
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then
    leafctl -q init-db --guard-steps 0
    leafctl -q failover settle >/dev/null
  fi
  expect 0 leafctl tags export other
  expect 5 leafctl tags export new
  prints ''
  contains "$stderr" "leafctl: tag 'new' is gone from the store, but this host was granted IDs of it up to "
  expect 5 leafctl tags export
  prints ''
  contains "$stderr" "leafctl: tag 'order' would go on from 1, although this host was granted IDs up to "
  contains "$stderr" 'leafctl: 3 tags would go on below what was granted, so nothing was exported'
  # Literally what the hints say.
  sed -n "s/^hint: run '\([^']*\)', with a higher number .*/\1/p" <<<"$stderr" >"$BATS_TEST_TMPDIR/mend"
  same 'hints' 3 "$(wc -l <"$BATS_TEST_TMPDIR/mend")"
  bash -e "$BATS_TEST_TMPDIR/mend"
  leafctl tags export >"$BATS_TEST_TMPDIR/tags.yaml"
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/new.db
  leafctl -q init-db
  leafctl -q tags import "$BATS_TEST_TMPDIR/tags.yaml"
  for tag in order new gone; do
    leafctl next "$tag" -n 25 >>"$ids.$tag"
    all_different 50 "$ids.$tag"
  done
}

@test "a store that is made anew under its old name gives its own IDs, none of the old buffer's" {
  leafctl -q add-tag order --step 10 --start 500
  leafctl next order >"$ids"
  leafctl next --snowflake >"$ids.1"
  until_left order 19
  recreate_store
  leafctl -q init-db
  leafctl -q add-tag order --step 10 --start 7
  same 'the first' 7 "$(leafctl next order)"
  leafctl next --snowflake >>"$ids.1"
  all_different 2 "$ids.1"
}

@test "a damaged buffer is told of by status and doctor, and thrown away by the next call" {
  leafctl -q add-tag order --step 10
  leafctl next order -n 3 >"$ids"
  until_nobody_fetches
  local file
  file=$(echo "$LEAFCTL_RUNTIME_DIR"/tag-*)
  # One of the first segment's, behind the header and the cursor.
  local place
  place=$(($(LC_ALL=C grep -abo 'leafhost' "$file" | head -n 1 | cut -d : -f 1) + 1088 + 64 + 32 + 2))
  printf '\177' | dd of="$file" bs=1 seek=$place conv=notrunc status=none
  same 'the state' damaged "$(buffered_state_of order)"
  expect 0 leafctl doctor
  contains "$output" "file '$file' is damaged"
  contains "$output" $'\tdraw an ID: the file is replaced then; what was buffered is lost, no ID repeats'
  leafctl next order -n 20 >>"$ids"
  same 'the state' ok "$(buffered_state_of order)"
  lacks "$(leafctl doctor)" damaged
  all_different 23 "$ids"
  [ "$(tail -n 1 "$ids")" -lt "$(leafctl tags show order -o json | jq -r .next_id)" ]
}

@test "who takes all that is left, again and again, gets no longer segments than a million" {
  leafctl -q add-tag order --step 500000
  leafctl next order >"$ids"
  local left step=0
  for _ in {1..12}; do
    until_nobody_fetches
    left=$(left_of order)
    leafctl next order -n "$left" --ranges >>"$ids"
  done
  until_nobody_fetches
  step=$(leafctl status -o json | jq -r 'select(.tag == "order").step')
  same 'the step' 1000000 "$step"
}
