# What a host's buffer belongs to: a store, by whatever name it is reached and wherever that name led before.
# shellcheck disable=SC2154 # set by support.bash

setup() {
  load support
  load host_support
  load serve_support
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
}

teardown() {
  end_server
  end_host_test
}

# on_two_databases: a second one with tag order from 1000000 on, whose name is in $other_database.
on_two_databases() {
  leafctl -q add-tag order --step 10
  leafctl -q next order >/dev/null
  other_database=${test_database}_other
  create_database "$other_database"
  leafctl -q --store "dbname=$other_database" init-db
  leafctl -q --store "dbname=$other_database" add-tag order --step 10 --start 1000000
}

@test "two databases whose URLs are shown alike are kept apart" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  on_two_databases
  for _ in {1..25}; do
    leafctl --store "postgresql:///$test_database?application_name=leaf@web1" next order >>"$ids.1"
    leafctl --store "postgresql:///$other_database?application_name=leaf@web1" next order >>"$ids.2"
  done
  same 'of the first' "$(seq 2 26)" "$(cat "$ids.1")"
  same 'of the second' "$(seq 1000000 1000024)" "$(cat "$ids.2")"
}

@test "a service that is led to another database gives that one's IDs from the next call on" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  on_two_databases
  export PGSERVICEFILE=$BATS_TEST_TMPDIR/services LEAFCTL_STORE=service=ids
  printf '[ids]\ndbname=%s\n' "$test_database" >"$PGSERVICEFILE"
  same 'before' 2 "$(leafctl next order)"
  printf '[ids]\ndbname=%s\n' "$other_database" >"$PGSERVICEFILE"
  same 'after' 1000000 "$(leafctl next order)"
  leafctl next --snowflake >"$ids"
  printf '[ids]\ndbname=%s\n' "$test_database" >"$PGSERVICEFILE.new"
  mv "$PGSERVICEFILE.new" "$PGSERVICEFILE"
  same 'back again' 3 "$(leafctl next order)"
  # Where the name was not to lead elsewhere, it is set right.
  printf '[ids]\ndbname=%s\n' "$other_database" >"$PGSERVICEFILE"
  contains "$(leafctl doctor)" $'\tif the name should not lead elsewhere, correct it'
  printf '[ids]\ndbname=%s\n' "$test_database" >"$PGSERVICEFILE"
  leafctl doctor >"$ids.doctor"
  lacks "$(leafctl doctor)" 'lead elsewhere'
  same 'set right' 4 "$(leafctl next order)"
}

@test "a server goes to the database that a link to a service file leads to, and others are not led by what it had open" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  on_two_databases
  export PGSERVICEFILE=$BATS_TEST_TMPDIR/services
  printf '[ids]\ndbname=%s\n' "$test_database" >"$PGSERVICEFILE.1"
  printf '[ids]\ndbname=%s\n' "$other_database" >"$PGSERVICEFILE.2"
  ln -s services.1 "$PGSERVICEFILE"
  serve --store service=ids
  same 'before' 2 "$(redis INCR order)"
  for _ in {1..100}; do redis INCR order; done >"$ids" # fetches, so that connections are open
  ln -sfn services.2 "$PGSERVICEFILE"
  is_of_second() { [ "$(redis INCR order)" -ge 1000000 ]; }
  until_true is_of_second
  get '/v1/tags/order/next?n=3000&form=ranges'
  [ "$(leafctl --store service=ids next order)" -ge 1000000 ]
}

@test "all names and users of one store draw from one buffer, in order" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  leafctl -q add-tag order --step 100
  role=leaf_names_$$
  psql -qAtX -d "$test_database" -c "CREATE ROLE $role LOGIN SUPERUSER"
  for _ in 1 2 3; do
    leafctl next order
    leafctl --store "dbname=$test_database" next order
    PGDATABASE=$test_database leafctl --store postgresql:// next order
    leafctl --store "dbname=$test_database connect_timeout=9" next order
    # Peers are let in under their own name alone, so this one comes by TCP, if the cluster lets it in.
    PGUSER=$role leafctl next order 2>/dev/null || leafctl next order
  done >"$ids"
  psql -qAtX -d "$test_database" -c "DROP ROLE $role"
  same 'the IDs' "$(seq 1 15)" "$(cat "$ids")"
  same 'buffers' 1 "$(leafctl status -o json | wc -l)"
}

@test "a database that is dropped and made anew is found out within a minute, or at once by doctor" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  leafctl -q add-tag order --step 100
  leafctl next order >"$ids"
  dropdb --force "$test_database"
  create_database "$test_database"
  # As another host does: this one is told nothing.
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q init-db
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q add-tag order --start 5000
  same 'a minute later' 5000 "$(at +61s leafctl next order)"
  dropdb --force "$test_database"
  create_database "$test_database"
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q init-db
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q add-tag order --start 7000
  found=$(leafctl doctor -o json | jq -r 'select(.check == "host_buffer" and .state == "warning").detail')
  contains "$found" "the store's name led to deployment "
  same 'after doctor' 7000 "$(leafctl next order)"
}

@test "who asks the store that a name leads to now has this host draw from that one at once" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  # exchange START: as another host does, so that this one is told nothing.
  exchange() {
    leafctl next order >>"$ids"
    dropdb --force "$test_database"
    create_database "$test_database"
    LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q init-db
    LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere leafctl -q add-tag order --start "$1"
  }
  leafctl -q add-tag order
  exchange 5000
  leafctl -q tags update order --raise-to 6000
  same 'after a raise' 6000 "$(leafctl next order)"
  exchange 6200
  leafctl -q tags update order --description orders
  same 'after another change' 6200 "$(leafctl next order)"
  exchange 6500
  leafctl -q add-tag another
  same 'after a tag was added' 6500 "$(leafctl next order)"
  exchange 6700
  leafctl -q failover settle >/dev/null
  same 'after a failover was settled' 6700 "$(leafctl next order)"
  exchange 7000
  same 'past the buffer' 7000 "$(leafctl next order --direct)"
  same 'and from the buffer' 7001 "$(leafctl next order)"
  exchange 9000
  leafctl -q next --snowflake --no-host-buffer >>"$ids"
  same 'after a worker of its own' 9000 "$(leafctl next order)"
  exchange 11000
  leafctl -q tags remove order --yes
  expect 4 leafctl next order
}

@test "while the server is away a name that nobody has checked is relied on" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  leafctl -q add-tag order --step 100
  psql -qAtX -d postgres -c "ALTER DATABASE $test_database RENAME TO ${test_database}_away"
  expect 2 leafctl next order
  psql -qAtX -d postgres -c "ALTER DATABASE ${test_database}_away RENAME TO $test_database"
  same 'the first' 1 "$(leafctl next order)"
  psql -qAtX -d postgres -c "ALTER DATABASE $test_database RENAME TO ${test_database}_away"
  same 'later' 2 "$(at +61s leafctl next order)"
  same 'and again' 3 "$(at +10min leafctl next order)"
  psql -qAtX -d postgres -c "ALTER DATABASE ${test_database}_away RENAME TO $test_database"
}

@test "two mount namespaces with different stores under one path are kept apart" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  leafctl -q add-tag order --step 10
  export FOLDER=$BATS_TEST_TMPDIR/store OTHER=$BATS_TEST_TMPDIR/other IDS=$ids
  mkdir "$FOLDER" "$OTHER"
  export LEAFCTL_STORE=sqlite:$FOLDER/leaf.db
  leafctl -q init-db
  leafctl -q add-tag order --step 10
  leafctl -q --store "sqlite:$OTHER/leaf.db" init-db
  leafctl -q --store "sqlite:$OTHER/leaf.db" add-tag order --step 10 --start 1000000
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount bash -euc 'mount --bind "$OTHER" "$FOLDER"
    for _ in {1..40}; do leafctl next order; done >"$IDS.2"' &
  for _ in {1..40}; do leafctl next order; done >"$ids.1"
  wait
  same 'here' "$(seq 1 40)" "$(cat "$ids.1")"
  same 'there' "$(seq 1000000 1000039)" "$(cat "$ids.2")"
}

@test "a path means the store that lies there in this mount namespace, in what is said of it and in what is forgotten" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  export FOLDER=$BATS_TEST_TMPDIR/store
  mkdir "$FOLDER" "$BATS_TEST_TMPDIR"/{other,none}
  export LEAFCTL_STORE=sqlite:$FOLDER/leaf.db
  leafctl -q init-db
  leafctl -q add-tag order --step 10
  # shellcheck disable=SC2016 # expanded by the inner shell
  with() { unshare --mount bash -euc 'mount --bind "$1" "$FOLDER"; shift; "$@"' with "$BATS_TEST_TMPDIR/$1" "${@:2}"; }
  with other leafctl -q init-db
  with other leafctl -q add-tag order --step 10 --start 1000000
  same 'here' 1 "$(leafctl next order)"
  same 'there' 1000000 "$(with other leafctl next order)"
  same 'both are drawn from' $'ok\nok' "$(leafctl status -o json | jq -r .state)"
  for place in other store other; do
    with $place leafctl doctor -o json >"$BATS_TEST_TMPDIR/doctor.$place" || true
    with $place leafctl next order >/dev/null
    same 'doctor' '' "$(jq -r 'select(.detail | contains("led to")).detail' "$BATS_TEST_TMPDIR/doctor.$place")"
  done
  with other leafctl -q status --forget "$LEAFCTL_STORE"
  local anew
  anew=$(with other leafctl next order)
  [ "$anew" -ge 1000010 ] || fail "still from what was buffered: $anew"
  # A store that is made anew where nothing is may be the one that is away.
  run --separate-stderr with none leafctl init-db
  same 'status' 0 "$status"
  contains "$stderr" 'this host knows another store of that name'
  same 'as before' $'3\n4' "$(leafctl next order -n 2)"
  # Drawn from where the folder is a mount of its own, as in a unit of systemd, before the tables were lost.
  mkdir "$BATS_TEST_TMPDIR/unit"
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/unit/leaf.db
  leafctl -q init-db
  leafctl -q add-tag order
  # shellcheck disable=SC2016 # expanded by the inner shell
  same 'in the unit' 1 "$(unshare --mount bash -euc 'mount --bind "$1" "$1"; leafctl next order' unit "$BATS_TEST_TMPDIR/unit")"
  : >"$BATS_TEST_TMPDIR/unit/leaf.db"
  run --separate-stderr leafctl next order
  same 'status' 2 "$status"
  contains "$stderr" 'hint: this host has drawn IDs from a store of that name'
}

# with_linked_stores: v1/leaf.db and v2/leaf.db, with tag order from 1000000 on in the second; cur leads to the first.
with_linked_stores() {
  local version
  cd "$BATS_TEST_TMPDIR" || return
  for version in v1 v2; do
    mkdir $version
    leafctl -q --store sqlite:$version/leaf.db init-db
  done
  leafctl -q --store sqlite:v1/leaf.db add-tag order
  leafctl -q --store sqlite:v2/leaf.db add-tag order --start 1000000
  ln -s v1 cur
}

@test "a server goes to the store that a link is turned to, and the former one's name stays its own" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  with_linked_stores
  leafctl -q --store sqlite:v1/leaf.db next order -n 5000 --direct >"$ids"
  serve --store sqlite:cur/leaf.db
  same 'before' 5001 "$(redis INCR order)"
  ln -sfn v2 cur
  is_of_second() { [ "$(redis INCR order)" -ge 1000000 ]; }
  until_true is_of_second
  get '/v1/tags/order/next?n=3000&form=ranges'
  leafctl --store sqlite:v1/leaf.db next order -n 100 >>"$ids"
  all_different 5100 "$ids"
  same 'IDs of the other store' 0 "$(awk '$1 >= 1000000' "$ids" | wc -l)"
  leafctl --store sqlite:cur/leaf.db next order >"$ids"
  [ "$(cat "$ids")" -ge 1000000 ]
}

@test "'..' after a link leads to where the link does, and nowhere while no file is there" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  with_linked_stores
  mkdir v2/sub
  ln -s ../v2/sub v1/link
  same 'by its own name' 1 "$(leafctl --store sqlite:v1/leaf.db next order)"
  same 'by the link' 1000000 "$(leafctl --store sqlite:v1/link/../leaf.db next order)"
  mv v2/leaf.db v2/away.db
  expect 2 leafctl --store sqlite:v1/link/../leaf.db next order
  prints ''
  contains "$stderr" "/v1/link/../leaf.db' does not exist"
}

@test "a store that another is written over gives the other's IDs from the next call on" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  leafctl -q add-tag order --step 10
  same 'before' 1 "$(leafctl next order)"
  until_left order 19
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" init-db
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" add-tag order --start 500
  cat "$BATS_TEST_TMPDIR/other.db" >"$BATS_TEST_TMPDIR/leaf.db"
  same 'after' 500 "$(leafctl next order)"
}

@test "a copy that was put back is refused on every path, and burns nothing" {
  leafctl -q add-tag order --step 10
  back_up_store
  leafctl next order -n 50 >"$ids"
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then leafctl -q init-db --guard-steps 0; fi
  before=$(leafctl tags show order -o json | jq -r .next_id)
  for options in --direct --no-host-buffer '--direct -n 7' '-n 1000' '-n 100 --no-host-buffer'; do
    # shellcheck disable=SC2086 # several words
    expect 5 leafctl next order $options
    prints ''
    contains "$stderr" "the store has granted IDs of tag 'order' before"
  done
  stderr_of_next=$stderr
  if [ "$TEST_STORE" = sqlite ]; then
    same 'the next ID' "$before" "$(leafctl tags show order -o json | jq -r .next_id)"
  fi
  expect 1 leafctl doctor --exit-code
  # Literally what the hint says.
  eval "$(sed -n "s/^hint: raise it to [0-9]* with '\([^']*\)'.*/\1/p" <<<"$stderr_of_next")"
  # In PostgreSQL, where another server has come, workers wait all the same.
  same 'what failed' '' "$(leafctl doctor | awk -F '\t' '$2 == "failed" && $1 != "identity"')"
  leafctl next order --direct >>"$ids"
  leafctl next order -n 20 >>"$ids"
  all_different 71 "$ids"
}

# Makes other's store a copy of this one.
make_copy() {
  back_up_store
  case $TEST_STORE in
    sqlite) cp "$BATS_TEST_TMPDIR/backup" "$BATS_TEST_TMPDIR/other.db" ;;
    postgresql)
      other true
      pg_restore -d "$other_database" "$BATS_TEST_TMPDIR/backup"
      ;;
  esac
}

@test "a copy for tests is made a deployment of its own, and disturbs the original no more" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_nobody_fetches
  make_copy
  original=$(leafctl -q init-db -o json | jq -r .deployment)
  same 'of the copy' "$original" "$(other leafctl -q init-db -o json | jq -r .deployment)"
  other leafctl next order >/dev/null
  until_nobody_fetches
  for options in '' '--layout leaf --yes' '--dry-run --yes'; do
    # shellcheck disable=SC2086 # several words
    expect 2 other leafctl init-db --new-deployment $options
    prints ''
  done
  same 'of the copy' "$original" "$(other leafctl -q init-db -o json | jq -r .deployment)"
  expect 0 other leafctl init-db --new-deployment --yes -o json
  same 'the former' "$original" "$(jq -r .former_deployment <<<"$output")"
  copy=$(jq -r .deployment <<<"$output")
  [ "$copy" != "$original" ]
  contains "$stderr" "is deployment $copy now, and was $original"
  contains "$stderr" 'never mix its IDs with those of the original'
  same 'of the copy' "$copy" "$(other leafctl -q init-db -o json | jq -r .deployment)"
  same 'of the original' "$original" "$(leafctl -q init-db -o json | jq -r .deployment)"
  same 'the event' "deployment	$original to $copy" \
    "$(other leafctl log -o json | jq -r 'select(.event == "deployment") | [.event, .detail] | @tsv')"
  # What was buffered of it is not drawn any more.
  before=$(other leafctl tags show order -o json | jq -r .next_id)
  first=$(other leafctl next order)
  [ "$first" -ge "$before" ]
  until_nobody_fetches
  same 'buffers' 2 "$(leafctl status -o json | wc -l)"
  other leafctl next order -n 5000 | sort -un >"$ids.other"
  all_different 5000 "$ids.other"
  other leafctl next order --direct -n 5000 >/dev/null
  mended=$(leafctl next order --direct 2>&1 >>"$ids" || true)
  if [ -n "$mended" ]; then
    # What the copy was granted as the original.
    eval "$(sed -n "s/^hint: raise it to [0-9]* with '\([^']*\)'.*/\1/p" <<<"$mended")"
    [ "$(leafctl tags show order -o json | jq -r .next_id)" -le "$first" ]
  fi
  for _ in {1..30}; do leafctl next order; done >>"$ids"
  expect 0 leafctl next order --direct
  all_different "$(wc -l <"$ids")" "$ids"
}

@test "where a store that was put back leases no worker, its hint goes on at once" {
  [ "$TEST_STORE" = sqlite ] || skip 'in PostgreSQL workers wait for all windows to be over'
  back_up_store
  leafctl next --snowflake >"$ids"
  exchange_store_file
  expect 5 leafctl next --snowflake
  prints ''
  contains "$stderr" 'the store has leased worker 0 up to '
  contains "$stderr" "hint: try again when that time has passed; if nobody has used worker 1023 since the backup"
  refused=$stderr
  expect 1 leafctl doctor --exit-code
  contains "$output" 'the store has leased worker 0 up to '
  expect 5 leafctl next --snowflake
  same 'what is said again' "$refused" "$stderr"
  option=$(sed -n "s/^hint: .*go on at once by taking it with '\(.*\)'$/\1/p" <<<"$stderr")
  # shellcheck disable=SC2086 # several words
  for _ in 1 2 3; do leafctl next --snowflake $option >>"$ids"; done
  all_different 4 "$ids"
}

@test "where a clock was ahead, the hint of a store that was put back goes on for good" {
  [ "$TEST_STORE" = sqlite ] || skip 'in PostgreSQL workers wait for all windows to be over'
  back_up_store
  at +400d leafctl next --snowflake >"$ids"
  exchange_store_file
  expect 5 leafctl next --snowflake
  contains "$stderr" 'hint: a clock was ahead then; if nobody else has used worker 1023 since the backup'
  option=$(sed -n "s/^hint: .*take it in every call from now on with '\(.*\)'$/\1/p" <<<"$stderr")
  # shellcheck disable=SC2086 # several words
  for _ in 1 2 3; do leafctl next --snowflake $option >>"$ids"; done
  LEAFCTL_WORKER_ID=1023 leafctl -q doctor --exit-code
  expect 1 leafctl -q doctor --exit-code
  contains "$output" 'a clock was ahead then'
  all_different 4 "$ids"
}

@test "a lease that a store put back takes for good again gives no IDs beside one that came later on this host" {
  [ "$TEST_STORE" = sqlite ] || skip 'in PostgreSQL workers wait for all windows to be over'
  leafctl next --snowflake --window 1s >"$ids"
  back_up_store
  at +2s leafctl next --snowflake --worker-id 0 >>"$ids"
  put_store_back
  expect 5 at +2s leafctl next --snowflake
  prints ''
  contains "$stderr" 'the store has leased worker 0 up to '
  at +2s leafctl next --snowflake --worker-id 0 -n 1000 >>"$ids"
  all_different 1002 "$ids"
}

@test "a name that was mistyped leaves nothing behind; status --forget drops what is buffered of a store" {
  leafctl -q add-tag order --step 10
  leafctl next order >/dev/null
  leafctl next --snowflake >/dev/null
  expect 3 leafctl --timeout 100ms --store postgresql://127.0.0.1:1/nothing next order
  expect 2 leafctl --store "sqlite:$BATS_TEST_TMPDIR/nothing.db" next order
  same 'buffers' 2 "$(leafctl status -o json | wc -l)"
  expect 2 leafctl status "$LEAFCTL_STORE"
  says "leafctl: argument '$LEAFCTL_STORE' requires '--forget'"
  until_nobody_fetches
  expect 0 leafctl status --forget
  says 'no buffers to discard'
  expect 0 leafctl status --forget "$LEAFCTL_STORE" -o json
  prints '{"forgotten":2}'
  same 'buffers' 0 "$(leafctl status -o json | wc -l)"
  leafctl next order >"$ids"
  [ "$(cat "$ids")" -gt 10 ]
}

@test "status --forget takes a store as it is shown, also where other variables had led to it" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  leafctl -q add-tag order
  LOCALDOMAIN=elsewhere leafctl -q next order >/dev/null
  shown=$(leafctl status -o json | jq -r .store)
  expect 0 leafctl status --forget "$shown"
  says 'discarded 1 buffer'
  same 'what is left' '' "$(leafctl status)"
}

@test "status --forget drops the buffers whose last fetch failed, and no others" {
  let_a_fetch_fail "$ids"
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" init-db
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" add-tag order
  leafctl --store "sqlite:$BATS_TEST_TMPDIR/other.db" next order >/dev/null
  until_nobody_fetches
  expect 0 leafctl status --forget
  says 'discarded 1 buffer'
  same 'what is left' ok "$(leafctl status -o json | jq -r .state)"
  unlock_store
}

@test "a call that asks the store says so where the host's folder is not to be trusted with its marks" {
  leafctl -q add-tag order
  leafctl next order >"$ids"
  expect 0 leafctl next order --direct
  says ''
  chmod 755 "$LEAFCTL_RUNTIME_DIR"
  for arguments in 'order --direct' 'order --no-host-buffer' '--snowflake --no-host-buffer'; do
    # shellcheck disable=SC2086 # several words
    expect 0 leafctl next $arguments
    contains "$stderr" 'leafctl: warning: this host keeps no record of its grants, so it cannot detect'
  done
  eval "$(sed -n "s/.*'\(chmod [^']*\)'.*/\1/p" <<<"$stderr")"
  expect 0 leafctl next order --direct
  says ''
}

@test "a store that was drawn from past the buffer is not to be created anew where it is gone" {
  [ "$TEST_STORE" = sqlite ] || skip 'a file that is emptied'
  leafctl -q add-tag order
  local arguments
  for arguments in 'next order --direct' 'next order --no-host-buffer' 'next --snowflake --no-host-buffer' 'workers acquire'; do
    # shellcheck disable=SC2086 # several words
    expect 0 leafctl $arguments
    cp "$BATS_TEST_TMPDIR/leaf.db" "$BATS_TEST_TMPDIR/kept"
    : >"$BATS_TEST_TMPDIR/leaf.db"
    expect 2 leafctl next order --direct
    contains "$stderr" 'hint: this host has drawn IDs from a store of that name'
    cp "$BATS_TEST_TMPDIR/kept" "$BATS_TEST_TMPDIR/leaf.db"
    rm "$LEAFCTL_RUNTIME_DIR"/store-*
  done
}

@test "a call that asks the store says so where the host's folder cannot be made" {
  leafctl -q add-tag order
  back_up_store
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/none/ids
  local arguments said="this host keeps no record of its grants, so it cannot detect a restored store: folder '$LEAFCTL_RUNTIME_DIR' cannot be made"
  for arguments in 'next order --direct' 'next order --no-host-buffer' 'next --snowflake --no-host-buffer' 'workers acquire'; do
    # shellcheck disable=SC2086 # several words
    expect 0 leafctl $arguments
    contains "$stderr" "leafctl: warning: $said"
    contains "$stderr" "hint: name another one with --runtime-dir, before anything is drawn"
  done
  expect 1 leafctl doctor --exit-code
  contains "$output" "cannot be created: there is no '$BATS_TEST_TMPDIR/none'"
  [ ! -e "$BATS_TEST_TMPDIR/none" ]
}

@test "whoever looks for tags that a store lost says where there is no record to look in" {
  local arguments said='leafctl: warning: this host keeps no record of its grants, so it cannot detect a restored store'
  leafctl -q add-tag kept
  back_up_store
  leafctl -q add-tag order
  leafctl next order >"$ids"
  leafctl tags export >"$BATS_TEST_TMPDIR/tags.yaml"
  until_nobody_fetches
  put_store_back
  if [ "$TEST_STORE" = postgresql ]; then
    leafctl -q init-db --guard-steps 0
    leafctl -q failover settle >/dev/null
  fi
  rm "$LEAFCTL_RUNTIME_DIR"/tag-*
  for mark in "$LEAFCTL_RUNTIME_DIR"/mark-*; do printf damaged | dd of="$mark" conv=notrunc status=none; done
  for arguments in 'next order' 'tags show order'; do
    # shellcheck disable=SC2086 # several words
    expect 4 leafctl $arguments
    contains "$stderr" "$said"
  done
  for arguments in 'tags export' "tags import --dry-run $BATS_TEST_TMPDIR/tags.yaml" 'add-tag order' "tags import $BATS_TEST_TMPDIR/tags.yaml"; do
    # shellcheck disable=SC2086
    expect 0 leafctl $arguments
    contains "$stderr" "$said"
  done
  expect 0 leafctl tags show order
  says ''
}

@test "what this host remembered of grants and has lost is told by doctor and where the store is asked, and mended" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  local mark way arguments said='leafctl: warning: this host keeps no record of its grants, so it cannot detect a restored store'
  mark=$(echo "$LEAFCTL_RUNTIME_DIR"/mark-*)
  for way in mkdir mkfifo; do
    rm -r "$mark"
    $way "$mark"
    expect 0 leafctl doctor
    contains "$output" "this host has forgotten how far a tag or worker was granted"
    contains "$output" "$mark"
    expect 0 leafctl status
    for arguments in 'order --direct' 'order --no-host-buffer' 'order -n 1000'; do
      # shellcheck disable=SC2086 # several words
      expect 0 leafctl next $arguments
      contains "$stderr" "$said"
      contains "$stderr" "$mark' is "
      contains "$stderr" 'hint: somebody else has put it there; remove it'
      echo "$output" >>"$ids"
    done
    expect 0 leafctl next --snowflake --no-host-buffer
    contains "$stderr" "$said"
  done
  # Where the buffer serves nobody asks; a call that has the next segment fetched does.
  until_nobody_fetches
  leafctl status --forget "$LEAFCTL_STORE" 2>/dev/null
  rm -r "$mark"
  leafctl next order >>"$ids"
  until_nobody_fetches
  truncate -s 100 "$mark"
  expect 0 leafctl next order
  says ''
  echo "$output" >>"$ids"
  expect 0 leafctl doctor
  contains "$output" 'is damaged, or a copy'
  expect 0 leafctl next order -n 15
  contains "$stderr" "$said"
  contains "$stderr" "hint: look again with 'leafctl doctor', and remove it if it is still named"
  echo "$output" >>"$ids"
  until_nobody_fetches
  same 'what is forgotten' '' "$(leafctl doctor | grep forgotten || true)"
  : >"$mark"
  expect 0 leafctl next order --direct
  contains "$stderr" "$said"
  echo "$output" >>"$ids"
  expect 0 leafctl next order --direct
  says ''
  all_different "$(wc -l <"$ids")" "$ids"
}

@test "a store that this host knows and that is out of sight is looked for, not made anew" {
  leafctl -q add-tag order
  leafctl next order -n 5 >/dev/null
  until_nobody_fetches
  if [ "$TEST_STORE" = postgresql ]; then
    psql -q -d "$test_database" -c 'CREATE SCHEMA app' -c "ALTER DATABASE $test_database SET search_path = app"
  else
    mv "$BATS_TEST_TMPDIR/leaf.db" "$BATS_TEST_TMPDIR/away.db"
  fi
  lost='hint: this host has drawn IDs from a store of that name: find out where its tables are now'
  expect 2 leafctl next order --direct
  contains "$stderr" "$lost"
  contains "$(leafctl doctor)" "${lost#hint: }"
  expect 0 leafctl init-db
  contains "$stderr" 'warning: this host knows another store of that name, whose IDs the new one gives out again'
  contains "$stderr" "hint: if they are in use anywhere, start each tag above them with 'leafctl add-tag TAG --start ID'"
  leafctl -q add-tag order --start 100000
  same 'begun above' 100000 "$(leafctl next order)"
}

@test "a store whose folder is away is looked for too, whatever links lead there, and -q hides no warning of repeats" {
  [ "$TEST_STORE" = sqlite ] || skip 'of files'
  local lost='hint: this host has drawn IDs from a store of that name: find out where its tables are now' name
  cd "$BATS_TEST_TMPDIR"
  mkdir -p vol/ids
  ln -s vol/ids link
  for name in vol/ids/leaf.db link/leaf.db ./link/../ids/leaf.db; do
    export LEAFCTL_STORE=sqlite:$name
    leafctl -q init-db
    leafctl -q add-tag order --start 5
    leafctl next order >/dev/null
    until_nobody_fetches
    for away in vol/ids vol; do
      mv "$away" away
      # What '..' leads to is not known then.
      if [[ $name != *..* ]]; then
        for command in 'next order --direct' 'next order' init-db '-q init-db'; do
          # shellcheck disable=SC2086 # words
          expect 2 leafctl $command
          contains "$stderr" "$lost"
          lacks "$stderr" 'mkdir'
        done
        contains "$(leafctl doctor)" "${lost#hint: }"
      fi
      mv away "$away"
    done
    mv vol away
    mkdir -p vol/ids
    expect 0 leafctl -q init-db
    contains "$stderr" 'warning: this host knows another store of that name, whose IDs the new one gives out again'
    contains "$stderr" "hint: if they are in use anywhere, start each tag above them"
    expect 0 leafctl -q init-db
    says ''
    rm -r vol/ids away
    mkdir vol/ids
  done
}

@test "a hint's commands name the store that the line named" {
  store=$LEAFCTL_STORE
  unset LEAFCTL_STORE
  expect 4 leafctl next order --store "$store"
  contains "$stderr" "hint: create it with 'leafctl --store $store add-tag order'"
  eval "$(sed -n "s/^hint: create it with '\(.*\)'$/\1/p" <<<"$stderr")"
  expect 0 leafctl next order --store "$store"
  printf 'store: "%s"\n' "$store" >"$BATS_TEST_TMPDIR/leafctl.yaml"
  expect 4 leafctl next other --config "$BATS_TEST_TMPDIR/leafctl.yaml"
  contains "$stderr" "create it with 'leafctl --config $BATS_TEST_TMPDIR/leafctl.yaml add-tag other'"
}

@test "a call that asks the store says so where the host's folder is full, and so does doctor" {
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  leafctl -q add-tag order
  mkdir -m 700 "$LEAFCTL_RUNTIME_DIR"
  # shellcheck disable=SC2016 # for the other shell
  run --separate-stderr unshare --mount bash -uc 'mount -t tmpfs -o size=8k,mode=700 none "$LEAFCTL_RUNTIME_DIR"
    head -c 8192 /dev/zero >"$LEAFCTL_RUNTIME_DIR/ballast"
    leafctl next order --direct; leafctl doctor -o json | jq -r "select(.state == \"failed\").detail"'
  same 'the ID, and what failed' "1
no file can be created in folder '$LEAFCTL_RUNTIME_DIR': its file system is full" "$output"
  contains "$stderr" 'it cannot detect a restored store: no file can be created in folder'
}

# exchanged_while TAG...: the lines of `leafctl next TAG...`, whose store is exchanged for another one after the first.
exchanged_while() {
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" init-db
  leafctl -q --store "sqlite:$BATS_TEST_TMPDIR/other.db" add-tag order --start 1 --step 1000
  {
    ended=0
    leafctl next "$@" 2>"$BATS_TEST_TMPDIR/stderr" || ended=$?
    echo "$ended" >"$BATS_TEST_TMPDIR/status"
  } | {
    read -r first
    mv "$BATS_TEST_TMPDIR/other.db" "$BATS_TEST_TMPDIR/leaf.db"
    wc -l
  } >"$ids"
  status=$(<"$BATS_TEST_TMPDIR/status") stderr=$(<"$BATS_TEST_TMPDIR/stderr")
}

@test "an output that comes in pieces ends where the store has become another one" {
  [ "$TEST_STORE" = sqlite ] || skip 'of a file'
  leafctl -q add-tag order --start 40000000
  exchanged_while order -n 16777217
  same 'the status' 5 "$status"
  same 'the other lines' 16777215 "$(<"$ids")"
  says "leafctl: the store is another one now; 16777216 IDs of the previous one were printed
hint: keep them apart from the IDs of the new store, and draw again"
}

@test "snowflake IDs end where the store has become another one" {
  [ "$TEST_STORE" = sqlite ] || skip 'of a file'
  for how in --worker-id=3 --no-host-buffer; do
    exchanged_while --snowflake -n 2000000 --window 100ms "$how"
    same 'the status' 5 "$status"
    contains "$stderr" "leafctl: the store is another one now; $(($(<"$ids") + 1)) IDs of the previous one were printed"
  done
}

@test "a container with another network or another folder of sockets draws nothing of this one's store" {
  [ "$TEST_STORE" = postgresql ] || skip 'of servers'
  unshare --net --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to make namespaces'
  leafctl -q add-tag order --step 10
  same 'here' 1 "$(leafctl next order)"
  local host=${PGHOST:-/var/run/postgresql}
  # The same address, where no server is.
  if [[ $host == /* ]]; then
    expect 3 unshare --mount bash -euc 'mount -t tmpfs none "$1"; leafctl --timeout 200ms next order' bash "$host"
  else
    expect 3 unshare --net leafctl --timeout 200ms next order
    # What reaches the same store has the same buffer.
    same 'other mounts' 2 "$(unshare --mount leafctl next order)"
  fi
  same 'here again' 1 "$(leafctl status -o json | wc -l)"
}
