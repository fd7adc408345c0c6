load support

# The host's clock is set with at(). A SQLite store has that clock too; a PostgreSQL server keeps the real time.

setup() {
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
}
teardown() { remove_store; }

@test "a clock that is set back by less than a second or two repeats nothing" {
  for offset in +0s -1s +0s -2s -1s +0s; do at "$offset" leafctl next --snowflake -n 500; done >"$ids"
  all_different 3000 "$ids"
}

@test "a clock that is set back by an hour is refused until it is right again" {
  export LEAFCTL_HOST_BUFFER=no  # each call asks the store
  leafctl next --snowflake -n 500 >"$ids"
  expect 5 at -3600s leafctl next --snowflake
  prints ''
  case $TEST_STORE in
    sqlite) contains "$stderr" 'behind an earlier grant' ;;
    postgresql) contains "$stderr" "behind the store's" ;;
  esac
  contains "$stderr" 'hint: set the clock'
  expect 5 at -3600s leafctl workers acquire
  leafctl next --snowflake -n 500 >>"$ids"
  all_different 1000 "$ids"
}

@test "a clock behind the last ID by more than max_backward is refused, and with less the IDs go on" {
  leafctl next --snowflake >"$ids"
  expect 5 at -4s leafctl next --snowflake
  prints ''
  [[ $stderr =~ "this host's clock ("20[^\ ]*"Z) is "[0-9]+m?s" behind the last ID's ("20[^\ ]*Z ]]
  contains "$stderr" 'hint: wait until it has caught up, or set it right'
  expect 0 at -4s leafctl next --snowflake --max-backward 5s
  printf '%s\n' "$output" >>"$ids"
  leafctl next --snowflake --max-backward 5s >>"$ids"
  contains "$(at -4s leafctl doctor)" 'wait until it has caught up, or set it right'
  # As both hints say: the clock is right.
  lacks "$(leafctl doctor)" 'caught up'
  leafctl next --snowflake >>"$ids"
  all_different 4 "$ids"
  increasing "$ids"
}

@test "a clock off by more than max_skew gets no window" {
  export LEAFCTL_HOST_BUFFER=no  # each call asks the store
  leafctl next --snowflake >"$ids"
  for offset in -4s -6s; do
    expect 5 at "$offset" leafctl next --snowflake --max-skew 1s --max-backward 1h
    prints ''
    case $TEST_STORE in
      sqlite) contains "$stderr" 'hint: wait until it has caught up, or set it right' ;;
      postgresql) contains "$stderr" 'hint: set the clocks right' ;;
    esac
  done
  expect 5 at -8s leafctl next --snowflake --max-backward 1h
  expect 0 at -8s leafctl next --snowflake --max-backward 1h --max-skew 10s
  printf '%s\n' "$output" >>"$ids"
  all_different 2 "$ids"
}

@test "a clock that is set forward by a day and back repeats nothing" {
  export LEAFCTL_HOST_BUFFER=no  # each call asks the store
  leafctl next --snowflake -n 500 >"$ids"
  case $TEST_STORE in
    sqlite)
      # Nobody knows better than the host; afterwards the true time is the one that went back.
      at +86400s leafctl next --snowflake -n 500 >>"$ids"
      expect 5 leafctl next --snowflake
      contains "$stderr" 'behind an earlier grant'
      at +86400s leafctl next --snowflake -n 500 >>"$ids"
      all_different 1500 "$ids"
      ;;
    postgresql)
      expect 5 at +86400s leafctl next --snowflake
      prints ''
      contains "$stderr" "ahead of the store's"
      leafctl next --snowflake -n 500 >>"$ids"
      all_different 1000 "$ids"
      ;;
  esac
}

@test "the time before the epoch gives no ID" {
  case $TEST_STORE in
    sqlite)
      expect 6 at '@1975-01-01 00:00:00' leafctl next --snowflake
      contains "$stderr" "leafctl: time '1975-01-01T00:00:0"
      contains "$stderr" "is before the epoch of layout 'leaf'"
      expect 6 at '@1902-01-01 00:00:00' leafctl next --snowflake
      contains "$stderr" "is before the epoch of layout 'leaf'"
      ;;
    postgresql)
      expect 5 at '@1975-01-01 00:00:00' leafctl next --snowflake
      ;;
  esac
  prints ''
}

@test "a layout warns a year before its end, and gives no ID past it" {
  if [ "$TEST_STORE" = postgresql ]; then skip 'the clock of the server cannot be set'; fi
  expect 0 at '@2079-07-01 00:00:00' leafctl next --snowflake
  says ''
  expect 0 at '@2079-09-01 00:00:00' leafctl next --snowflake
  [[ $output =~ ^[0-9]{19}$ ]]
  contains "$stderr" "leafctl: warning: layout 'leaf' ends in 313d"
  contains "$stderr" 'at 2080-07-10T17:30:30.208Z'
  contains "$stderr" 'hint: move to a store with another layout before then'
  expect 6 at '@2080-07-11 00:00:00' leafctl next --snowflake
  prints ''
  contains "$stderr" "is past the end of layout 'leaf'"
  contains "$(at '@2080-07-11 00:00:00' leafctl doctor)" $'\tgo on in a new store with a layout that lasts; keep both kinds of IDs apart'
  # As both hints say.
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/new.db
  expect 0 leafctl -q init-db --layout time:42,worker:9,sequence:12
  for time in '@2079-09-01 00:00:00' '@2080-07-11 00:00:00'; do
    expect 0 at "$time" leafctl next --snowflake
    says ''
    contains "$(at "$time" leafctl doctor)" $'layout\tok'
  done
}

# hint: the command that the last hint names.
hint() { sed -n "s/^hint: .*is right already, .*'leafctl \(.*\)'.*$/\1/p" <<<"$stderr"; }

@test "what a clock a year ahead leaves behind keeps this host only until it does what the hint says" {
  if [ "$TEST_STORE" = postgresql ]; then skip 'the clock of the server cannot be set'; fi
  for buffered in yes no; do
    export LEAFCTL_HOST_BUFFER=$buffered
    leafctl next --snowflake --worker-name a >"$ids.1"
    at +400d leafctl next --snowflake --worker-name a >"$ids.2"
    expect 5 leafctl next --snowflake --worker-name a
    prints ''
    contains "$stderr" '399d behind'
    before=$(leafctl workers list -o json | jq -c '[.worker, .owner, .state, .window_end]')
    expect 5 leafctl next --snowflake --worker-name a --max-skew 24h --max-backward 24h
    expect 5 leafctl workers acquire --worker-name a
    same 'the workers' "$before" "$(leafctl workers list -o json | jq -c '[.worker, .owner, .state, .window_end]')"
    contains "$(LEAFCTL_WORKER_NAME=a leafctl doctor)" $'clock\tfailed\tthe store\'s clock is 399d '
    # Others go on all the while.
    expect 0 leafctl next --snowflake --worker-name b
    printf '%s\n' "$output" >"$ids.3"
    expect 5 leafctl next --snowflake --worker-name a
    same 'the hint' 'workers release --worker-name a' "$(hint)"
    case $buffered in
      yes) says="go on with 'leafctl $(hint)'" ;;
      no) says="run 'leafctl $(hint)', then start again whatever runs under that name" ;;
    esac
    same 'the hint of doctor' "$says" \
      "$(LEAFCTL_WORKER_NAME=a leafctl doctor -o json | jq -r 'select(.state == "failed").hint' | sort -u | sed 's/.*already, //')"
    # shellcheck disable=SC2046 # as a person types it
    expect 0 leafctl $(hint)
    expect 0 leafctl next --snowflake --worker-name a -n 500
    printf '%s\n' "$output" >"$ids.4"
    same 'what failed' '' "$(LEAFCTL_WORKER_NAME=a leafctl doctor -o json | jq -r 'select(.state == "failed").detail')"
    contains "$(leafctl doctor)" 'leased while a clock was ahead: nobody gets '
    shows=$(leafctl doctor | sed -n "s/.*\tothers are used instead; '\(.*\)' shows them.*/\1/p")
    $shows | cut -f 1 >"$ids.ahead"
    [ -s "$ids.ahead" ]
    leafctl -q workers recycle $(<"$ids.ahead") --force --yes || [ $? -eq 4 ]  # those that were released are free
    same 'those ahead' "$(<"$ids.ahead")" "$(leafctl workers list --state ahead | cut -f 1)"
    contains "$(leafctl workers list --state ahead | cut -f 4)" "$(date -u -d '+400 days' +%Y-%m-)"
    [ "$(tail -n 1 "$ids.4")" -lt "$(<"$ids.2")" ]
    leafctl next --snowflake --worker-name a -n 500 >>"$ids.4"
    increasing "$ids.4"
    at +400d leafctl next --snowflake --worker-name a -n 500 >"$ids.5"
    leafctl -q workers release --worker-name a
    cat "$ids".? >>"$ids"
    all_different $((1503 * (1 + $(grep -c no <<<"$buffered")))) "$ids"
  done
}

@test "what a clock that was ahead left of one store is no failure of another" {
  if [ "$TEST_STORE" = postgresql ]; then skip 'the clock of the server cannot be set'; fi
  local here=$LEAFCTL_STORE
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/other.db
  leafctl -q init-db
  at +1h leafctl next --snowflake
  leafctl --store "$here" next --snowflake
  expect 0 leafctl --store "$here" doctor --exit-code
  lacks "$output" 'behind'
  expect 1 leafctl doctor --exit-code
  contains "$output" "behind what is buffered for the worker of '$(uname -n)'"
  # Nobody can ask that store now, but it is still the one.
  mv "$BATS_TEST_TMPDIR/other.db" "$BATS_TEST_TMPDIR/away"
  contains "$(leafctl doctor)" "behind what is buffered for the worker of '$(uname -n)'"
}

@test "a clock in the year 2090 leases nothing and leaves nothing behind" {
  if [ "$TEST_STORE" = postgresql ]; then skip 'the clock of the server cannot be set'; fi
  for buffered in yes no; do
    export LEAFCTL_HOST_BUFFER=$buffered
    for command in 'next --snowflake' 'workers acquire'; do
      # shellcheck disable=SC2086 # a command of several words
      expect 6 at '@2090-01-01 00:00:00' leafctl $command
      prints ''
    done
    same 'workers' '' "$(leafctl -q workers list)"
  done
  leafctl next --snowflake
}

@test "a clock that is ahead of the store's goes on by the flag that the hint names" {
  if [ "$TEST_STORE" = sqlite ]; then skip 'the store has the clock of the host'; fi
  for offset in +1h -1h; do
    expect 5 at "$offset" leafctl next --snowflake --worker-name "x$offset"
    contains "$stderr" 'hint: set the clocks right, or allow more skew with --max-skew, up to 24h'
    expect 0 at "$offset" leafctl next --snowflake --worker-name "x$offset" --max-skew 24h
  done
  expect 5 at +2d leafctl next --snowflake
  contains "$stderr" 'hint: set the clocks right'
  lacks "$stderr" 'max-skew'
  same 'workers' 2 "$(leafctl workers list | wc -l)"
  expect 0 leafctl next --snowflake
}
