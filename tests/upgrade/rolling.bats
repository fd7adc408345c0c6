# Hosts are upgraded one by one: the packages of the last release, built from its commit, and those of this program draw
# from one store at once. TEST_STORE names the store's kind, OLD_PACKAGES and NEW_PACKAGES the packages' folders.
load ../cli/support
load ../support/dpkg_root

setup_file() {
  new_dpkg_root "$BATS_FILE_TMPDIR/old" "$OLD_PACKAGES"/*.deb
  in_dpkg_root "$BATS_FILE_TMPDIR/old" --install "$OLD_PACKAGES"/*.deb
  new_dpkg_root "$BATS_FILE_TMPDIR/new" "$NEW_PACKAGES"/*.deb
  in_dpkg_root "$BATS_FILE_TMPDIR/new" --install "$NEW_PACKAGES"/*.deb
}

setup() {
  new_store
  ids=$BATS_TEST_TMPDIR/ids
  memory=$(mktemp -d -p /dev/shm)
  export LEAFCTL_RUNTIME_DIR=$memory/run
}
teardown() {
  remove_store
  rm -rf "$memory"
}

# installed ROOT ARGUMENT...: the program that is installed there.
installed() {
  local root=$1 triple
  shift
  triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  LD_LIBRARY_PATH=$root/usr/lib/$triple "$root/usr/bin/leafctl" "$@"
}

# Each with a host of its own, whose folder it keeps.
old() { LEAFCTL_RUNTIME_DIR=$memory/run.old LEAFCTL_WORKER_NAME=old installed "$BATS_FILE_TMPDIR/old" "$@"; }
new() { LEAFCTL_RUNTIME_DIR=$memory/run.new LEAFCTL_WORKER_NAME=new installed "$BATS_FILE_TMPDIR/new" "$@"; }

# draw_in ROOT COUNT: from this test's host, tags and snowflakes.
draw_in() {
  installed "$1" next order -n "$2"
  installed "$1" next --snowflake -n "$2"
}

# draw_side_by_side COUNT: from both, tags and snowflakes, at once.
draw_side_by_side() {
  local program
  for program in old new; do
    for _ in 1 2 3 4; do "$program" next order -n "$1"; done >"$ids.$program" &
    for _ in 1 2 3 4; do "$program" next --snowflake -n "$1"; done >"$ids.$program.snowflake" &
  done
  local job
  for job in $(jobs -p); do wait "$job"; done
  cat "$ids".{old,new}{,.snowflake} >>"$ids"
}

@test "the store is upgraded first, while the last release draws, and both draw afterwards" {
  old -q init-db
  old -q add-tag order --step 50
  expect 2 new next order
  contains "$stderr" "hint: upgrade it with 'leafctl init-db'"
  for _ in {1..60}; do old next order -n 50; done >"$ids" &
  drawing=$!
  new -q init-db
  wait "$drawing"
  draw_side_by_side 500
  all_different $((3000 + 8000)) "$ids"
}

@test "the last release goes on with a store that this program made" {
  new -q init-db
  new -q add-tag order --step 50
  draw_side_by_side 500
  all_different 8000 "$ids"
  old -q tags update order --step 70
  same 'the step' 70 "$(new tags show order -o json | jq -r .step)"
  expect 0 old workers list
  expect 0 old init-db
  contains "$stderr" 'its schema has version '
}

@test "who goes back to the last release goes on behind what this program drew, also on the same host" {
  new -q init-db
  new -q add-tag order --step 50
  for _ in 1 2 3; do
    draw_in "$BATS_FILE_TMPDIR/new" 70
    draw_in "$BATS_FILE_TMPDIR/old" 70
  done >"$ids"
  all_different 840 "$ids"
}

# draw_until FILE ROOT OUTPUT: all the while until the file is there, and then says how many times.
draw_until() {
  local times=0
  until [ -e "$1" ]; do
    draw_in "$2" 70 || return
    times=$((times + 1))
  done >"$3"
  echo "$times" >"$3.times"
}

@test "a host's packages are upgraded and taken back while it draws" {
  local root=$BATS_TEST_TMPDIR/root end=$BATS_TEST_TMPDIR/end
  new_dpkg_root "$root" "$OLD_PACKAGES"/*.deb "$NEW_PACKAGES"/*.deb
  in_dpkg_root "$root" --install "$OLD_PACKAGES"/*.deb
  installed "$root" -q init-db
  installed "$root" -q add-tag order --step 50
  draw_in "$root" 70 >"$ids"
  # A program that was started before an upgrade goes on with the files that it has mapped.
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  installed "$root" next --snowflake -n 200000 >"$BATS_TEST_TMPDIR/pipe" &
  local long=$!
  exec 9<"$BATS_TEST_TMPDIR/pipe"
  draw_until "$end" "$BATS_FILE_TMPDIR/old" "$ids.others" &
  local others=$!
  in_dpkg_root "$root" --install "$NEW_PACKAGES"/*.deb
  installed "$root" -q init-db
  draw_in "$root" 70 >>"$ids"
  in_dpkg_root "$root" --install "$OLD_PACKAGES"/*.deb
  draw_in "$root" 70 >>"$ids"
  in_dpkg_root "$root" --install "$NEW_PACKAGES"/*.deb
  draw_in "$root" 70 >>"$ids"
  touch "$end"
  cat <&9 >>"$ids"
  exec 9<&-
  wait "$long"
  wait "$others"
  all_different $((4 * 140 + 200000 + $(<"$ids.others.times") * 140)) "$ids" "$ids.others"
}
