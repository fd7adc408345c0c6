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

# Interrupts an output that has begun and cannot have ended, since no pipe holds so much. What was printed is in ids, the
# status in $ended.
interrupt_long_output() {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  env --default-signal=INT leafctl next order -n 1000000000 >"$BATS_TEST_TMPDIR/pipe" 3>&- &
  writer=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  head -c 1000 <&9 >"$BATS_TEST_TMPDIR/ids"
  kill -INT "$writer"
  cat <&9 >>"$BATS_TEST_TMPDIR/ids"
  exec 9<&-
  ended=0
  wait "$writer" || ended=$?
}

@test "SIGINT ends the output after a whole line and the process by the signal" {
  interrupt_long_output
  same 'the status' 130 "$ended"
  seq 1 "$(wc -l <"$BATS_TEST_TMPDIR/ids")" | cmp - "$BATS_TEST_TMPDIR/ids"
}

@test "an output that is interrupted wastes no more IDs than are granted at once" {
  interrupt_long_output
  next=$(leafctl tags show order -o json | jq -r .next_id)
  [ "$next" -gt "$(tail -n 1 "$BATS_TEST_TMPDIR/ids")" ]
  [ "$next" -le $((16777216 + 1000 + 1)) ]
}

@test "a long output that goes past the limit prints nothing and wastes nothing, and what is buffered counts" {
  leafctl -q add-tag small --limit 20000000
  same 'an ID' 1 "$(leafctl next small)"
  expect 6 leafctl next small -n 20000000
  prints ''
  contains "$stderr" 'IDs left (limit 20000000)'
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
  runs_within 100000
  run bash -c 'ulimit -v 100000; leafctl next order -n 100000000 | tail -n 1'
  prints 100000000
}

@test "a terminal gets a table with a head, in which nothing moves the cursor" {
  leafctl -q add-tag red --description $'\033[31mred\a' --limit 99
  on_terminal 'leafctl --color never tags list'
  [[ $(head -n 1 <<<"$output") =~ ^tag\ +next_id\ +step\ +limit\ +updated\ +granted\ +description$ ]]
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

@test "who types IDs is told how to end them, unless it is to be quiet" {
  on_terminal 'leafctl decode --color never' $'1256557484213448722\n\004'
  contains "$output" 'reading IDs from standard input; end with Ctrl-D'
  on_terminal 'leafctl -q decode --color never' $'1256557484213448722\n\004'
  lacks "$output" 'reading IDs'
  expect 0 leafctl decode <<<1256557484213448722
  says ''
}

@test "a terminal that only takes text gets nothing else" {
  leafctl -q next order >"$BATS_TEST_TMPDIR/id"
  local terminal command
  for terminal in TERM=dumb '-u TERM'; do
    for command in 'tags list' 'tags list -q' 'next none' 'bench decode --duration 500ms' 'bench decode -n 1000' \
      'doctor' '--timeout 600ms --store postgresql://127.0.0.1:1/ids next order'; do
      on_terminal "env $terminal leafctl $command"
      lacks "$output" $'\033'
    done
    script -qfec "env $terminal leafctl status --watch --interval 10ms" "$BATS_TEST_TMPDIR/watched" \
      </dev/null >/dev/null 3>&- &
    until [ "$(grep -c '^tag' "$BATS_TEST_TMPDIR/watched" 2>/dev/null)" -ge 3 ] 2>/dev/null; do
      kill -0 $! || return 1
    done
    kill $!
    wait $! || true
    lacks "$(cat "$BATS_TEST_TMPDIR/watched")" $'\033'
    rm "$BATS_TEST_TMPDIR/watched"
  done
}

@test "what is printed fits the terminal" {
  local width command
  # Short names: what has no blank is not broken, so that it can be copied.
  cd "$BATS_TEST_TMPDIR"
  export LEAFCTL_STORE=sqlite:leaf.db LEAFCTL_RUNTIME_DIR=/dev/shm/leafctl-$$ MANPATH=/nonexistent
  leafctl -q next order >ids
  for width in 40 80; do
    for command in 'bench decode -n 1000' 'bench segment -n 1000 --verify' 'show-config' '--help' '' \
      'help' 'help next' 'next --help' 'tags' 'tags list' 'tags show order'; do
      on_terminal "stty cols $width; leafctl --color never $command"
      [ -n "$output" ]
      same "lines of '$command' that are wider than $width" '' "$(awk -v width=$width 'length > width' <<<"$output")"
    done
  done
  on_terminal "stty cols 40; TERM=xterm leafctl bench decode --duration 500ms >/dev/null"
  lacks "$(sed 's/\x1b\[K/\n/g' <<<"$output" | awk 'length >= 40')" 'IDs'
  rm -rf "$LEAFCTL_RUNTIME_DIR"
}

@test "a terminal is told that the store is waited for, until it is not" {
  local away='leafctl --color never --store postgresql://127.0.0.1:1/ids --timeout 700ms'
  for command in 'next order' 'next order -o json'; do
    on_terminal "TERM=xterm $away $command"
    [[ $output == $'\033[Kwaiting up to 700ms for the store\033[Kleafctl: could not fetch a segment'* ]] ||
      same 'the output' 'a notice that is taken back' "$output"
  done
  on_terminal "TERM=dumb $away next order"
  [[ $output == $'waiting up to 700ms for the store\nleafctl: could not fetch a segment'* ]]
  on_terminal "TERM=xterm $away -q next order"
  lacks "$output" waiting
  on_terminal "TERM=xterm $away --timeout 0 next order"
  lacks "$output" waiting
  expect 3 $away next order
  lacks "$stderr" waiting
  for command in 'next order --direct' 'tags list' 'add-tag x' 'tags show x' 'workers list' 'init-db' 'next --snowflake'; do
    on_terminal "TERM=dumb $away $command"
    [[ $output == $'waiting up to 700ms for the store\nleafctl: '* ]] || same "the output of '$command'" 'a notice' "$output"
  done
  on_terminal 'TERM=xterm leafctl next order'
  prints 1
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
