load support

setup() {
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
}
teardown() {
  # A test that failed may leave it waiting, or stopped.
  if [ -n "${writer:-}" ]; then kill -KILL "$writer" 2>/dev/null || true; fi
  remove_store
}

# start_output COUNT OPTION...: an output that no pipe holds. Its first ID goes to $ids, its process is $writer.
start_output() {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  env --default-signal=INT,TERM,HUP leafctl next --snowflake -n "$@" >"$BATS_TEST_TMPDIR/pipe" 3>&- &
  writer=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  local first
  read -r -t 30 first <&9
  printf '%s\n' "$first" >"$ids"
}

# Takes the rest of its output, until it ends, and its status.
await_end() {
  cat <&9 >>"$ids"
  exec 9<&-
  ended=0
  wait "$writer" || ended=$?
  writer=
}

@test "next --snowflake prints increasing IDs of now, one a line" {
  before=$(date +%s%3N)
  leafctl next --snowflake -n 10000 >"$ids"
  after=$(date +%s%3N)
  all_different 10000 "$ids"
  increasing "$ids"
  leafctl decode <"$ids" | cut -f 4 >"$BATS_TEST_TMPDIR/times"
  [ "$(head -n 1 "$BATS_TEST_TMPDIR/times")" -ge "$before" ]
  [ "$(tail -n 1 "$BATS_TEST_TMPDIR/times")" -le "$((after + 1))" ]
  same 'the workers' 0 "$(leafctl decode <"$ids" | cut -f 5 | sort -u)"
}

@test "next --snowflake goes on behind its last ID when it is called again" {
  for _ in {1..30}; do leafctl next --snowflake -n 3; done >"$ids"
  all_different 90 "$ids"
  increasing "$ids"
}

@test "next --snowflake -o json prints one object for each ID, which is a string" {
  expect 0 leafctl next --snowflake -n 2 -o json
  same 'the shape' '["id"] string' "$(jq -r '(keys | tostring) + " " + (.id | type)' <<<"$output" | sort -u)"
  same 'the lines' 2 "$(wc -l <<<"$output")"
}

@test "next takes either a tag or --snowflake, each with options of its own" {
  leafctl -q add-tag order
  expect 2 leafctl next
  says "leafctl: argument 'TAG' is missing
hint: give a tag, or '--snowflake' for IDs without one"
  expect 2 leafctl next order --snowflake
  says "leafctl: '--snowflake' does not take a tag, but 'order' was given"
  expect 2 leafctl next --snowflake --ranges
  says "leafctl: '--ranges' is for tags, not for '--snowflake'"
  expect 2 leafctl next --snowflake --direct
  says "leafctl: '--direct' is for tags, not for '--snowflake'"
  for option in '--worker-id 3' '--worker-name x' '--window 1m' '--layout leaf' '--max-skew 1s'; do
    expect 2 leafctl next order $option
    says "leafctl: '${option%% *}' is for '--snowflake', not for tags"
  done
  LEAFCTL_WINDOW=1m expect 0 leafctl next order
  prints 1
}

@test "next --snowflake refuses what is no number of IDs" {
  for number in 0 -5 1e6 0x10 99999999999999999999; do
    expect 2 leafctl next --snowflake -n "$number"
    prints ''
    says "leafctl: '-n' takes a number from 1 to 9223372036854775806, not '$number'"
  done
}

@test "four loops at once draw different IDs" {
  draw_in_four_loops 100 "$ids"
}

@test "two long outputs at once hold different IDs" {
  leafctl next --snowflake -n 200000 >"$ids.1" &
  leafctl next --snowflake -n 200000 >"$ids.2"
  wait
  all_different 400000 "$ids.1" "$ids.2"
}

@test "every layout makes IDs that it can decode, and never a duplicate" {
  for layout in twitter sonyflake mastodon baidu:29+21+13 yitter 41,10,12/1s 31,22,2/1s@1600000000000; do
    remove_store
    new_store
    leafctl -q init-db --layout "$layout"
    expect 0 leafctl next --snowflake -n 5
    printf '%s\n' "$output" >"$ids"
    all_different 5 "$ids"
    same 'the decoded IDs' "$output" "$(leafctl decode --layout "$layout" <<<"$output" | cut -f 1)"
    rm -f "$BATS_TEST_TMPDIR"/leaf.db*
  done
}

@test "a host that expects another layout than the store's is refused, and takes no worker" {
  expect 2 leafctl next --snowflake --layout twitter
  prints ''
  contains "$stderr" "leafctl: the store's layout is 'leaf', but this host expects 'twitter'"
  LEAFCTL_LAYOUT=twitter expect 2 leafctl workers acquire
  contains "$stderr" "expects 'twitter'"
  same 'the workers' '' "$(leafctl -q workers list)"
  leafctl -q init-db --layout twitter
  LEAFCTL_LAYOUT=twitter expect 0 leafctl next --snowflake
}

@test "decode, encode and bounds go by the layout in the settings, where none is named" {
  export LEAFCTL_LAYOUT=discord
  same 'decode' discord "$(leafctl decode 175928847299117063 | cut -f 2)"
  same 'encode' 175928847299117063 "$(leafctl encode --time 2016-04-30T11:18:25.796Z --worker 1 --sequence 7)"
  same 'bounds' 175928847298985984 "$(leafctl bounds --from 2016-04-30T11:18:25.796Z | cut -f 1)"
  same 'a flag' leaf "$(leafctl decode --layout leaf 175928847299117063 | cut -f 2)"
  same 'bits' leaf "$(leafctl decode --bits 41,10,12 175928847299117063 | cut -f 2)"
  same 'an epoch' 2016-04-30T11:18:25.797Z "$(leafctl decode --epoch 1420070400001 175928847299117063 | cut -f 3)"
}

@test "the end of an output gives the rest of its window back" {
  export LEAFCTL_HOST_BUFFER=no
  leafctl next --snowflake -n 5 >"$ids"
  same 'the state' idle "$(state_of 0)"
  last=$(tail -n 1 "$ids" | leafctl decode | cut -f 4)
  same 'its window ends behind the last ID' "$((last + 1))" \
    "$(date -d "$(leafctl workers list -o json | jq -r .window_end)" +%s%3N)"
}

@test "SIGINT, SIGTERM and SIGHUP end the output after a whole line and give the worker back" {
  export LEAFCTL_HOST_BUFFER=no
  for signal in INT:130 TERM:143 HUP:129; do
    start_output 1000000000000
    kill "-${signal%:*}" "$writer"
    await_end
    same "the status after ${signal%:*}" "${signal#*:}" "$ended"
    [[ $(tail -c 20 "$ids") =~ ^[0-9]{19}$ ]]
    increasing "$ids"
    same 'the state' idle "$(state_of 0)"
    rm "$BATS_TEST_TMPDIR/pipe"
  done
}

@test "containers that come and go share a worker with --release-on-exit, and no ID repeats" {
  for ((i = 0; i < 12; ++i)); do
    LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/run$i leafctl next --snowflake -n 3000 --worker-name "job-$i" \
      --release-on-exit >>"$ids"
  done
  all_different 36000 "$ids"
  same 'the workers' $'0\t\tfree' "$(leafctl workers list | cut -f 1-3)"
  # Without it each keeps one.
  for i in a b c; do leafctl next --snowflake --worker-name "job-$i" --no-host-buffer >>"$ids"; done
  same 'the workers' 3 "$(leafctl workers list | wc -l)"
}

@test "eight containers at once with --release-on-exit have workers of their own, and free them" {
  for i in 1 2 3 4 5 6 7 8; do
    LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/run$i leafctl next --snowflake -n 20000 --worker-name "job-$i" \
      --release-on-exit >"$ids.$i" &
  done
  wait
  all_different 160000 "$ids".?
  same 'the states' free "$(leafctl workers list | cut -f 3 | sort -u)"
  [ "$(leafctl workers list | wc -l)" -le 8 ]
}

@test "SIGINT and SIGTERM free the worker with --release-on-exit, and a full disk does" {
  for signal in INT:130 TERM:143; do
    start_output 1000000000000 --release-on-exit --worker-name "job-$signal"
    # Two at once are one request, as timeout(1) sends them.
    kill "-${signal%:*}" "$writer"
    kill "-${signal%:*}" "$writer" 2>/dev/null || true
    await_end
    same "the status after ${signal%:*}" "${signal#*:}" "$ended"
    increasing "$ids"
    same 'the state' free "$(state_of 0)"
    rm "$BATS_TEST_TMPDIR/pipe"
  done
  run bash -c 'leafctl next --snowflake --release-on-exit --worker-name full >/dev/full'
  same 'the status' 1 "$status"
  same 'the workers' 0 "$(leafctl workers list --state held | wc -l)"
}

@test "--release-on-exit is for snowflake IDs" {
  leafctl -q add-tag order
  expect 2 leafctl next order --release-on-exit
  says "leafctl: '--release-on-exit' is for '--snowflake', not for tags"
}

@test "SIGINT ends a long output from the host's buffer, and wastes neither worker nor time" {
  start_output 1000000000000
  kill -INT "$writer"
  await_end
  same 'the status' 130 "$ended"
  leafctl next --snowflake >>"$ids"
  increasing "$ids"
  last=$(tail -n 1 "$ids" | leafctl decode)
  same 'the worker' 0 "$(cut -f 5 <<<"$last")"
  [ "$(cut -f 4 <<<"$last")" -le $(($(date +%s%3N) + 1)) ]
  same 'the workers' 0 "$(leafctl workers list | cut -f 1)"
}

@test "SIGINT while the next unit of time is awaited gives the worker back, too" {
  export LEAFCTL_HOST_BUFFER=no
  leafctl -q init-db --layout 31,22,2/1s@1600000000000
  start_output 1000000
  kill -INT "$writer"
  await_end
  same 'the status' 130 "$ended"
  same 'the state' idle "$(state_of 0)"
}

@test "a reader that has gone and a full disk give the worker back" {
  export LEAFCTL_HOST_BUFFER=no
  run bash -c 'leafctl next --snowflake -n 1000000000000 | head -n 1 | wc -l; echo ${PIPESTATUS[0]}'
  prints $'1\n141'
  same 'the state' idle "$(state_of 0)"
  run bash -c 'leafctl next --snowflake >/dev/full'
  same 'the status' 1 "$status"
  prints 'leafctl: cannot write to standard output: No space left on device'
  same 'the state' idle "$(state_of 0)"
}

@test "the window is no longer than the IDs need, and at most as long as is set" {
  export LEAFCTL_HOST_BUFFER=no
  start_output 20000
  left=$(leafctl workers list -o json | jq -r .window_end)
  [ $(($(date -d "$left" +%s%3N) - $(date +%s%3N))) -le 5100 ]
  await_end
  same 'the status' 0 "$ended"
  all_different 20000 "$ids"
  rm "$BATS_TEST_TMPDIR/pipe"
  start_output 1000000000000 --window 1h
  left=$(leafctl workers list -o json | jq -r .window_end)
  [ $(($(date -d "$left" +%s%3N) - $(date +%s%3N))) -ge 3500000 ]
  kill -INT "$writer"
  await_end
}

@test "a process that is killed keeps its worker for its window alone, and nothing repeats" {
  start_output 1000000000000 --window 300ms
  kill -KILL "$writer"
  await_end
  same 'the status' 137 "$ended"
  until_state 0 lapsed
  same 'the worker' 0 "$(leafctl next --snowflake | tee -a "$ids" | leafctl decode | cut -f 5)"
  # The last line may be cut.
  grep -xE '[0-9]{19}' "$ids" >"$ids.whole"
  increasing "$ids.whole"
}

@test "a process that was stopped past its window and recycled meanwhile repeats nothing" {
  start_output 1000000000000 --window 300ms --worker-name stopped
  kill -STOP "$writer"
  until_state 0 lapsed
  expect 0 leafctl workers recycle 0 --force --yes
  leafctl next --snowflake -n 100000 --worker-name other --worker-id 0 >"$ids.other"
  kill -CONT "$writer"
  head -c 20000000 <&9 >>"$ids"
  kill -INT "$writer"
  await_end
  same 'the status' 130 "$ended"
  same 'the worker of the other' 0 "$(leafctl decode <"$ids.other" | cut -f 5 | sort -u)"
  all_different "$(cat "$ids" "$ids.other" | wc -l)" "$ids" "$ids.other"
  increasing "$ids"
  same 'its workers' '0 1' "$(leafctl decode <"$ids" | cut -f 5 | uniq | xargs)"
}

@test "IDs stream in constant memory" {
  # 2 million lines are 40 megabytes; the limit is on all address space, libraries, driver and stacks included.
  runs_within 150000
  run bash -c 'ulimit -v 150000; ulimit -s 1024; leafctl next --snowflake -n 2000000 | wc -l'
  prints 2000000
}

# in_an_hour_s_units: a layout whose first unit of time has begun half an hour ago: no window holds it as a whole.
in_an_hour_s_units() { leafctl -q init-db --layout "31,10,22/1h@$(($(date +%s%3N) - 1800000))"; }

@test "a unit of time that begins after the timeout is not waited for" {
  in_an_hour_s_units
  for how in --worker-id=3 --no-host-buffer; do
    expect 2 leafctl next --snowflake --timeout 1s "$how"
    contains "$stderr" 'hint: set the window to 7200s or longer'
    expect 3 leafctl next --snowflake --window 7200s --timeout 1s "$how"
    contains "$stderr" "leafctl: no ID can be made before the next unit of time of layout 'time:31,worker:10,sequence:22/1h@"
    contains "$stderr" "hint: allow more time with --timeout; if the host's buffer is used, waiting until then helps too"
  done
}

# catches_signals PROCESS: SIGHUP and SIGTERM, as the program does while it waits.
catches_signals() { (((16#$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status") & 16#4001) == 16#4001)); }

@test "a wait for the next unit of time ends at a signal" {
  in_an_hour_s_units
  for signal in TERM HUP INT; do
    for how in --worker-id=3 --no-host-buffer; do
      # Bash starts what is in the background with SIGINT ignored.
      env --default-signal=INT leafctl next --snowflake --window 2h --timeout 2h "$how" >"$ids" 3>&- &
      writer=$!
      # As soon as the program takes it.
      eventually catches_signals "$writer"
      kill -s "$signal" "$writer"
      ended=0
      wait "$writer" || ended=$?
      same 'the status' "$((128 + $(kill -l "$signal")))" "$ended"
      same 'the output' '' "$(<"$ids")"
    done
  done
}
