load support

setup() {
  new_initialized_store
  leafctl -q add-tag order
}
teardown() { remove_store; }

@test "a full disk is an error" {
  for command in 'next order' 'next order -n 100000' 'tags list' 'show-config -o json' '--version' 'help'; do
    run sh -c "leafctl $command >/dev/full"
    same "the status of $command" 1 "$status"
    same "the message of $command" 'leafctl: cannot write to standard output: No space left on device' "$output"
  done
}

@test "a closed standard output is an error, and never the store" {
  expect 1 sh -c 'leafctl next order -n 5000 >&-'
  says 'leafctl: cannot write to standard output: Bad file descriptor'
  expect 1 sh -c 'leafctl next order <&- >&- 2>&-'
  expect 0 leafctl tags list
}

@test "a reader that has gone ends the output quietly" {
  run bash -c 'leafctl next order -n 10000000 | head -n 1; echo ${PIPESTATUS[0]}'
  prints $'1\n141'
  run bash -c 'trap "" PIPE; leafctl next order -n 10000000 --ranges | true; leafctl next order -n 10000000 | head -n 1'
  prints 20000001
}

@test "SIGINT ends the output after a whole line and the process by the signal" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  env --default-signal=INT leafctl next order -n 1000000000 >"$BATS_TEST_TMPDIR/pipe" 3>&- &
  writer=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  # With its first bytes read the output has begun; it cannot end, since no pipe holds so much.
  head -c 1000 <&9 >"$BATS_TEST_TMPDIR/ids"
  kill -INT "$writer"
  cat <&9 >>"$BATS_TEST_TMPDIR/ids"
  exec 9<&-
  ended=0
  wait "$writer" || ended=$?
  same 'the status' 130 "$ended"
  seq 1 "$(wc -l <"$BATS_TEST_TMPDIR/ids")" | cmp - "$BATS_TEST_TMPDIR/ids"
}

@test "an output that is interrupted wastes no more IDs than are granted at once" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  env --default-signal=INT leafctl next order -n 1000000000 >"$BATS_TEST_TMPDIR/pipe" 3>&- &
  writer=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  # Nobody reads on, and so the output stops within what the pipe holds.
  head -c 1000 <&9 >"$BATS_TEST_TMPDIR/ids"
  kill -INT "$writer"
  cat <&9 >>"$BATS_TEST_TMPDIR/ids"
  exec 9<&-
  wait "$writer" || true
  next=$(leafctl tags show order -o json | jq -r .next_id)
  [ "$next" -gt "$(tail -n 1 "$BATS_TEST_TMPDIR/ids")" ]
  [ "$next" -le $((16777216 + 1000 + 1)) ]
}

@test "a long output that goes past the limit prints nothing and wastes nothing, and what is buffered counts" {
  leafctl -q add-tag small --limit 20000000
  same 'an ID' 1 "$(leafctl next small)"
  expect 6 leafctl next small -n 20000000
  prints ''
  contains "$stderr" 'IDs left up to its limit 20000000'
  leafctl -q next small -n 19999999 >"$BATS_TEST_TMPDIR/ids"
  seq 2 20000000 | cmp - "$BATS_TEST_TMPDIR/ids"
}

@test "who draws while a long output goes on gets an ID of its own, between two pieces" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  leafctl next order -n 20000000 >"$BATS_TEST_TMPDIR/pipe" 3>&- &
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  head -c 1000 <&9 >"$BATS_TEST_TMPDIR/ids"
  same 'the ID in between' 16777217 "$(leafctl next order)"
  cat <&9 >>"$BATS_TEST_TMPDIR/ids"
  exec 9<&-
  wait $!
  { seq 16777216; seq 16777218 20000001; } | cmp - "$BATS_TEST_TMPDIR/ids"
}

@test "IDs stream in constant memory" {
  # 100 million lines are 1.3 gigabytes; the limit is on all address space, libraries included.
  run bash -c 'ulimit -v 100000; leafctl next order -n 100000000 | tail -n 1'
  prints 100000000
}

@test "a terminal gets a table with a head, in which nothing moves the cursor" {
  leafctl -q add-tag red --description $'\033[31mred\a' --limit 99
  on_terminal 'leafctl --color never tags list'
  [[ $(head -n 1 <<<"$output") =~ ^tag\ +next_id\ +step\ +limit\ +updated\ +description$ ]]
  contains "$output" '\x1b[31mred\x07'
  lacks "$output" $'\033'
  on_terminal 'leafctl tags list -o json'
  contains "$output" '\u001b[31mred\u0007'
  on_terminal 'leafctl --color never tags show red'
  contains "$output" $'tag          red\nnext_id      1'
}

@test "colour is for terminals only, unless asked for" {
  on_terminal 'TERM=xterm leafctl tags list'
  contains "$output" $'\033[1mtag'
  on_terminal 'TERM=xterm NO_COLOR=1 leafctl tags list'
  lacks "$output" $'\033'
  on_terminal 'TERM=dumb leafctl tags list'
  lacks "$output" $'\033'
  expect 2 leafctl nxt
  lacks "$stderr" $'\033'
}

@test "--quiet leaves the data and the errors, --verbose says more" {
  expect 0 leafctl -q add-tag x
  says ''
  expect 4 leafctl -q next y
  contains "$stderr" "tag 'y' does not exist"
  expect 0 leafctl -v next x --direct
  prints 1
  contains "$stderr" 'granted 1 to 1'
  contains "$stderr" "store: $LEAFCTL_STORE (LEAFCTL_STORE)"
}
