load support

setup() { new_initialized_store; }
teardown() { remove_store; }

@test "a worker name that holds nothing is told the one that was meant" {
  leafctl -q workers acquire --worker-name billing-1
  expect 0 leafctl workers release --worker-name bilng-1
  says "'bilng-1' holds no worker: did you mean 'billing-1'?"
  expect 0 leafctl workers release --worker-name other
  says "'other' holds no worker"
  expect 0 leafctl workers release --worker-name bilng-1 -o json
  says "'bilng-1' holds no worker"
  expect 0 leafctl workers release --worker-name billing-1
  expect 0 leafctl workers release --worker-name bilng-1
  says "'bilng-1' holds no worker"
}

@test "workers list of no workers prints nothing and says how one is taken" {
  expect 0 leafctl workers list
  prints ''
  says "no workers yet: 'leafctl next --snowflake' takes one"
}

@test "workers acquire leases a worker, prints the lease and says that it is held" {
  expect 0 leafctl workers acquire --worker-name web-1 --window 1h -o json
  same 'the keys' 'worker owner window_begin window_end token' "$(jq -r 'keys_unsorted | join(" ")' <<<"$output")"
  same 'the worker' '0 web-1' "$(jq -r '"\(.worker) \(.owner)"' <<<"$output")"
  [[ $(jq -r .token <<<"$output") =~ ^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$ ]]
  begin=$(date -d "$(jq -r .window_begin <<<"$output")" +%s%3N)
  end=$(date -d "$(jq -r .window_end <<<"$output")" +%s%3N)
  same 'the length' 3600000 "$((end - begin))"
  contains "$stderr" "worker 0 is held by 'web-1' until $(jq -r .window_end <<<"$output")"
  contains "$stderr" "'leafctl workers release 0 --worker-name web-1' frees it"
  same 'the state' held "$(state_of 0)"
  expect 0 leafctl -q workers acquire --worker-name web-2
  same 'the fields' 5 "$(awk -F '\t' '{ print NF }' <<<"$output")"
  LEAFCTL_WORKER_NAME=web-3 expect 0 leafctl workers acquire
  contains "$stderr" "'leafctl workers release 2' frees it"
}

@test "the window that workers acquire prints is of whole units of the layout's time, so that two holders share none" {
  leafctl -q init-db --layout sonyflake
  for name in web-{1..5}; do
    expect 0 leafctl -q workers acquire --worker-name "$name" --window 1s -o json
    for key in window_begin window_end; do
      same "$key" 0 "$(($(date -d "$(jq -r ".$key" <<<"$output")" +%s%3N) % 10))"
    done
  done
}

@test "a window that holds no unit of the layout's time is refused, and the hint leads to one that does" {
  leafctl -q init-db --layout time:23,worker:10,sequence:20/1h@1704067200000
  expect 2 leafctl workers acquire
  says "leafctl: a window of 10m is shorter than the unit of layout 'time:23,worker:10,sequence:20/1h@1704067200000'
hint: set it to 1h or longer with '--window 1h'"
  prints ''
  expect 0 leafctl -q workers acquire --window 1h -o json
  [ "$(jq -r .window_begin <<<"$output")" '<' "$(jq -r .window_end <<<"$output")" ]
}

@test "workers acquire leases no longer than asked for, but for the unit of time that it has begun" {
  leafctl -q init-db --layout time:23,worker:10,sequence:20/1h@1704067200000
  expect 0 leafctl workers acquire --window 90m -o json
  same 'the length' 3600 "$(jq -r '(.window_end | fromdate) - (.window_begin | fromdate)' <<<"${output//.000Z/Z}")"
  held=$(leafctl workers list -o json | jq -r .window_end)
  says "worker 0 is held by '$(uname -n)' until $held; 'leafctl workers release 0' frees it"
}

@test "workers acquire cuts a window short where the layout ends" {
  epoch=$(($(date +%s%3N) - ((1 << 20) - 300) * 1000))
  leafctl -q init-db --layout "time:20,worker:2,sequence:12/1s@$epoch"
  expect 0 leafctl -q workers acquire -o json
  same 'the end' "$((epoch + (1 << 20) * 1000))" "$(date -d "$(jq -r .window_end <<<"$output")" +%s%3N)"
}

@test "workers acquire takes no worker where nothing is left of the layout but the unit that has begun" {
  end=$(($(date +%s%3N) + 59 * 60 * 1000))
  leafctl -q init-db --layout "time:10,worker:2,sequence:12/1h@$((end - 1024 * 3600 * 1000))"
  expect 6 leafctl -q workers acquire --window 1h
  prints ''
  same 'held' '' "$(leafctl workers list --state held)"
}

@test "what workers acquire says frees the worker" {
  expect 0 leafctl workers acquire --worker-name web-1
  $(cut -d "'" -f 4 <<<"$stderr") -q
  same 'the state' free "$(state_of 0)"
}

@test "workers list prints one line for each worker, exact in a pipe" {
  leafctl -q workers acquire --worker-name a >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name b >>"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers release 1 --worker-name b
  leafctl -q next --snowflake --no-host-buffer --worker-name c --worker-id 5 >>"$BATS_TEST_TMPDIR/lease"
  expect 0 leafctl workers list
  same 'without times' $'0\ta\theld\n1\t\tfree\n5\tc\tidle' "$(cut -f 1-3 <<<"$output")"
  same 'the window' "$(head -n 1 "$BATS_TEST_TMPDIR/lease" | cut -f 4)" "$(head -n 1 <<<"$output" | cut -f 4)"
  [[ $(head -n 1 <<<"$output" | cut -f 5) =~ ^[0-9]+$ ]]
  [[ $(head -n 1 <<<"$output" | cut -f 6) =~ ^-?[0-9]+$ ]]
  expect 0 leafctl workers list -o json
  same 'the keys' 'worker owner state window_end silent_ms clock_offset_ms' \
    "$(jq -r 'keys_unsorted | join(" ")' <<<"$output" | sort -u)"
  same 'the types' 'number null string string number number' \
    "$(jq -r 'select(.worker == 1) | map(type) | join(" ")' <<<"$output")"
}

@test "workers list on a terminal is a table with times from now" {
  leafctl -q workers acquire --worker-name web-1 >"$BATS_TEST_TMPDIR/lease"
  on_terminal 'leafctl --color never workers list'
  [[ $(sed -n 1p <<<"$output") =~ ^worker\ +owner\ +state\ +window_end\ +silent\ +clock_offset$ ]]
  [[ $(sed -n 2p <<<"$output") =~ ^\ +0\ +web-1\ +held\ +in\ 9m\ 5[0-9]s\ +[0-9]+m?s\ +-?[0-9]+ms$ ]]
}

@test "a worker is called after the host, the variable or the flag" {
  same 'the host' "$(uname -n)" "$(leafctl -q workers acquire | cut -f 2)"
  same 'the variable' billing "$(LEAFCTL_WORKER_NAME=billing leafctl -q workers acquire | cut -f 2)"
  same 'the flag' web "$(LEAFCTL_WORKER_NAME=billing leafctl -q workers acquire --worker-name web | cut -f 2)"
  expect 2 leafctl workers acquire --worker-name 'a b'
  says "leafctl: '--worker-name' takes 1 to 255 printable ASCII characters without blanks, not 'a b'"
}

@test "a worker is pinned by --worker-id, or for each name by the configuration file" {
  mkdir -p "$HOME/.config/leafctl"
  printf 'worker_id:\n  web-1: 7\n  web-2: 9\n' >"$HOME/.config/leafctl/leafctl.yaml"
  same 'the first' 7 "$(leafctl -q workers acquire --worker-name web-1 | cut -f 1)"
  same 'the second' 9 "$(leafctl -q workers acquire --worker-name web-2 | cut -f 1)"
  same 'any other' 0 "$(leafctl -q workers acquire --worker-name web-3 | cut -f 1)"
  same 'the flag' 3 "$(leafctl -q workers acquire --worker-name web-1 --worker-id 3 | cut -f 1)"
  expect 5 leafctl workers acquire --worker-name web-4 --worker-id 9
  contains "$stderr" 'leafctl: worker 9 is held by another'
  printf 'worker_id:\n  web-1: 7\n  web-2: 7\n' >"$HOME/.config/leafctl/leafctl.yaml"
  expect 2 leafctl workers list
  contains "$stderr" "leafctl.yaml:1: 'worker_id' gives worker 7 to 'web-1' and worker 7 to 'web-2'"
  printf 'worker_id:\n  web-1: 7\n  web-2: x\n' >"$HOME/.config/leafctl/leafctl.yaml"
  expect 2 leafctl workers list
  contains "$stderr" "leafctl.yaml:3: 'worker_id.web-2' takes a number"
}

@test "a worker that the layout has no room for is refused" {
  expect 2 leafctl workers acquire --worker-id 1024
  contains "$stderr" "layout 'leaf' has workers from 0 to 1023, not '1024'"
  expect 2 leafctl workers acquire --worker-id 2147483648
  contains "$stderr" "'--worker-id' takes a number from 0 to 2147483647, not '2147483648'"
}

@test "workers release frees what this host holds, and nothing of others" {
  leafctl -q workers acquire --worker-name a >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name a >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name b >"$BATS_TEST_TMPDIR/lease"
  expect 5 leafctl workers release 2 --worker-name a
  contains "$stderr" "leafctl: worker 2 is held by 'b', not 'a'"
  expect 4 leafctl workers release 9 --worker-name a
  contains "$stderr" 'leafctl: worker 9 is not held'
  expect 0 leafctl workers release --worker-name a
  prints ''
  says 'released workers 0, 1'
  expect 0 leafctl workers release --worker-name a -o json
  prints '{"worker":null}'
  says "'a' holds no worker"
  expect 0 leafctl workers release 2 --worker-name b -o json
  prints '{"worker":2}'
  says 'released worker 2'
  same 'the states' 'free free free' "$(leafctl workers list | cut -f 3 | xargs)"
  expect 4 leafctl workers release 2 --worker-name b
}

@test "workers recycle without a name takes those whose window is over and whose owner is silent" {
  leafctl -q workers acquire --worker-name dead --window 10ms >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name alive >"$BATS_TEST_TMPDIR/lease"
  until_state 0 lapsed
  expect 0 leafctl workers recycle
  says "nothing to recycle: no owner whose window is over was silent for 1h; 'leafctl workers recycle 0' frees what is over already"
  expect 0 leafctl workers recycle 0
  prints ''
  says 'recycled worker 0'
  expect 0 leafctl workers recycle
  says "nothing to recycle: no owner whose window is over was silent for 1h; 'leafctl workers recycle WORKER --force' frees one sooner"
  leafctl -q workers acquire --worker-name dead --window 10ms >"$BATS_TEST_TMPDIR/lease"
  until_state 0 lapsed
  expect 0 leafctl workers recycle --recycle-after 0s
  prints ''
  says 'recycled worker 0'
  same 'the states' 'free held' "$(leafctl workers list | cut -f 3 | xargs)"
  expect 0 leafctl workers recycle --recycle-after 0s -o json
  prints '{"worker":null}'
  expect 2 leafctl workers recycle --force --yes
  contains "$stderr" "leafctl: '--force' needs the numbers of the workers"
}

@test "workers recycle takes a named one, but not a live one without --force" {
  leafctl -q workers acquire --worker-name dead --window 10ms >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name alive >"$BATS_TEST_TMPDIR/lease"
  until_state 0 lapsed
  expect 4 leafctl workers recycle 7
  prints ''
  says "leafctl: worker 7 is not held
hint: see which are held with 'leafctl workers list'"
  expect 5 leafctl workers recycle 0 1 -o json
  prints '{"worker":0}'
  contains "$stderr" 'recycled worker 0'
  contains "$stderr" "leafctl: worker 1 is held by 'alive' until 20"
  contains "$stderr" 'hint: wait until then, or free it now with --force. No ID can repeat'
  expect 4 leafctl workers recycle 0
  expect 2 leafctl workers recycle 1 --force </dev/null
  says "leafctl: recycling workers that may be in use needs confirmation
hint: add '--yes' to do it without being asked"
  same 'the state' held "$(state_of 1)"
  expect 0 leafctl workers recycle 1 --force --yes -o json
  prints '{"worker":1}'
  same 'the state' free "$(state_of 1)"
}

@test "workers recycle goes on behind one that fails, reports each, and exits as the first" {
  for owner in a b c; do leafctl -q workers acquire --worker-name "$owner" >"$BATS_TEST_TMPDIR/lease"; done
  leafctl -q workers release 2 --worker-name c
  expect 4 leafctl workers recycle 7 0 2 --force --yes -o json
  prints '{"worker":0}'
  says "leafctl: worker 7 is not held
hint: see which are held with 'leafctl workers list'
recycled worker 0
leafctl: worker 2 is not held
hint: see which are held with 'leafctl workers list'
leafctl: 2 of 3 workers were not recycled"
  expect 5 leafctl workers recycle 1 7
  contains "$stderr" 'leafctl: worker 7 is not held'
  same 'the states' 'free held free' "$(leafctl workers list | cut -f 3 | xargs)"
}

@test "workers list takes a pattern of owners and a state" {
  leafctl -q workers acquire --worker-name web-1 >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name web-2 >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name db >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers release 1 --worker-name web-2
  same 'by owner' '0' "$(leafctl workers list 'web-*' | cut -f 1)"
  same 'by state' '0 2' "$(leafctl workers list --state held | cut -f 1 | xargs)"
  same 'by both' '2' "$(leafctl workers list 'd?' --state held | cut -f 1)"
  expect 0 leafctl workers list --state lapsed
  prints ''
  says 'no worker matches'
  expect 2 leafctl workers list --state dead
  says "leafctl: '--state' takes held, lapsed, idle, free, ahead or outside, not 'dead'"
}

@test "workers recycle --force asks on a terminal and takes only yes for yes" {
  leafctl -q workers acquire --worker-name alive >"$BATS_TEST_TMPDIR/lease"
  on_terminal 'leafctl --color never workers recycle 0 --force' $'n\n'
  same 'the status' 1 "$status"
  contains "$output" "recycle worker 0 (held by 'alive' until 20"
  contains "$output" 'leafctl: no worker was recycled'
  same 'the state' held "$(state_of 0)"
  on_terminal 'leafctl --color never workers recycle 0 --force' $'y\n'
  same 'the status' 0 "$status"
  same 'the state' free "$(state_of 0)"
}

@test "a recycled worker starts where its last window ended" {
  leafctl -q workers acquire --worker-name a --window 300ms -o json >"$BATS_TEST_TMPDIR/first"
  leafctl -q workers recycle 0 --force --yes
  until leafctl -q workers acquire --worker-name b --worker-id 0 -o json >"$BATS_TEST_TMPDIR/second" 2>"$BATS_TEST_TMPDIR/why"; do
    contains "$(cat "$BATS_TEST_TMPDIR/why")" 'its window is not over'
  done
  end=$(jq -r .window_end "$BATS_TEST_TMPDIR/first")
  begin=$(jq -r .window_begin "$BATS_TEST_TMPDIR/second")
  [[ $begin > $end || $begin == "$end" ]]
}

@test "with all workers taken the next claim exits with 6 and a hint" {
  leafctl -q init-db --layout 41,1,21
  leafctl -q workers acquire --worker-name a >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name b --window 10ms >"$BATS_TEST_TMPDIR/lease"
  until_state 1 lapsed
  for command in 'workers acquire' 'next --snowflake'; do
    expect 6 leafctl $command --worker-name c
    prints ''
    says "leafctl: all 2 workers are taken
hint: see who holds them with 'leafctl workers list', and free those whose holder is gone with 'leafctl workers recycle WORKER'"
  done
  # As the hint says.
  hint=${stderr_lines[-1]}
  same 'who holds them' 'a b' "$($(cut -d "'" -f 2 <<<"$hint") | cut -f 2 | xargs)"
  expect 0 $(cut -d "'" -f 4 <<<"${hint/WORKER/1}")
  expect 0 leafctl workers acquire --worker-name c
  same 'the status' 6 "$(leafctl -q next --snowflake --worker-name d --recycle-after 0s 2>"$BATS_TEST_TMPDIR/why" || echo $?)"
  leafctl -q workers recycle 1 --force --yes
  end=$(leafctl workers list -o json | jq -r 'select(.worker == 1).window_end')
  expect 6 leafctl workers acquire --worker-name d
  says "leafctl: all 2 workers are taken
hint: wait until $end at the latest, when the window of one that was freed is over; or free one whose holder is gone with 'leafctl workers recycle WORKER'"
  # The clock of PostgreSQL cannot be set.
  if [ "$TEST_STORE" = sqlite ]; then expect 0 at "@$(date -u -d "$end 1 second" '+%F %T')" leafctl workers acquire --worker-name d; fi
}

@test "where all workers were freed, and their windows are not over, the hint says when to try again" {
  leafctl -q init-db --layout 41,1,21
  for owner in a b; do leafctl -q workers acquire --worker-name "$owner" >"$BATS_TEST_TMPDIR/lease"; done
  leafctl -q workers recycle 0 1 --force --yes
  end=$(leafctl workers list -o json | jq -r .window_end | sort | head -n 1)
  expect 6 leafctl workers acquire --worker-name c
  says "leafctl: all 2 workers are taken
hint: try again at $end, when the window of the first one is over"
  if [ "$TEST_STORE" = sqlite ]; then expect 0 at "@$(date -u -d "$end 1 second" '+%F %T')" leafctl workers acquire --worker-name c; fi
}

@test "a worker whose owner is silent goes to another by itself" {
  leafctl -q init-db --layout 41,1,21
  leafctl -q workers acquire --worker-name a --window 10ms >"$BATS_TEST_TMPDIR/lease"
  leafctl -q workers acquire --worker-name b >"$BATS_TEST_TMPDIR/lease"
  until_state 0 lapsed
  expect 6 leafctl workers acquire --worker-name c
  same 'the worker' 0 "$(leafctl -q workers acquire --worker-name c --recycle-after 0s | cut -f 1)"
}

@test "workers list says which lie outside of what the store leases" {
  leafctl -q workers acquire --worker-name a --worker-id 600 --window 10ms >"$BATS_TEST_TMPDIR/lease"
  until_state 600 lapsed
  leafctl -q init-db --workers 0-511
  same 'the state' outside "$(state_of 600)"
  expect 0 leafctl workers list --state outside -o json
  same 'the worker' 600 "$(jq .worker <<<"$output")"
  same 'the worker of its owner' 0 "$(leafctl -q next --snowflake --worker-name a | leafctl decode -o json | jq .worker)"
}
