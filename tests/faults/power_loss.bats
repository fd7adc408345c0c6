#!/usr/bin/env bats
# A file system that is shut down at once under a SQLite store, as if the power failed: ext4 on a loop device, which takes
# root. What the disk was not told to keep is gone.

setup() {
  [ "$(id -u)" -eq 0 ] || skip "needs root, to mount a file system"
  command -v mkfs.ext4 >/dev/null || skip "needs mkfs.ext4"
  unset "${!LEAFCTL_@}"
  truncate -s 64M "$BATS_TEST_TMPDIR/image"
  mkfs.ext4 -q "$BATS_TEST_TMPDIR/image"
  disk=$BATS_TEST_TMPDIR/disk
  mkdir "$disk"
  power_on || skip "needs loop devices"
}

teardown() {
  ! mountpoint -q "$disk" || umount "$disk"
}

power_on() {
  mount -o loop "$BATS_TEST_TMPDIR/image" "$disk"
}

# Everything that is not on the disk is lost, the file system's own log included.
power_off() {
  python3 -c '
import fcntl, os, struct, sys
EXT4_IOC_SHUTDOWN, NOLOGFLUSH = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), EXT4_IOC_SHUTDOWN, struct.pack("I", NOLOGFLUSH))' "$disk"
}

# draw_on FILE: grants of the store, one after the other, until the power is off. Some come too late on a busy machine.
draw_on() {
  until [ -e "$BATS_TEST_TMPDIR/off" ]; do
    leafctl next order --direct --store "sqlite:$disk/leaf.db" --timeout 2s >>"$1" 2>/dev/null || true
  done
}

given() {
  cat "$BATS_TEST_TMPDIR"/given.* 2>/dev/null | wc -l
}

# wait_for_more COUNT: that many more grants are acknowledged.
wait_for_more() {
  local wanted=$(($(given) + $1)) end=$((SECONDS + 60))
  until [ "$(given)" -ge "$wanted" ]; do
    [ "$SECONDS" -lt "$end" ] || { echo "no $1 grants more came in a minute"; return 1; }
  done
}

@test "power loss: a counter in a file that nobody syncs goes back, so this disk forgets" {
  sqlite3 "$disk/counter.db" 'CREATE TABLE t (n); INSERT INTO t VALUES (0)'
  sync
  [ "$(sqlite3 "$disk/counter.db" 'PRAGMA synchronous = OFF; UPDATE t SET n = n + 1 RETURNING n')" = 1 ]
  power_off
  umount "$disk"
  power_on
  [ "$(sqlite3 "$disk/counter.db" 'SELECT n FROM t')" = 0 ]
}

@test "power loss: no grant that was acknowledged comes again" {
  export LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/run LEAFCTL_HOST_BUFFER=no
  leafctl init-db --store "sqlite:$disk/leaf.db"
  leafctl add-tag order --store "sqlite:$disk/leaf.db"
  for ((i = 0; i < ${POWER_CUTS:-50}; i++)); do
    for writer in 1 2 3; do draw_on "$BATS_TEST_TMPDIR/given.$writer" & done
    wait_for_more $((RANDOM % 30 + 1))
    power_off
    touch "$BATS_TEST_TMPDIR/off"
    wait
    rm "$BATS_TEST_TMPDIR/off"
    umount "$disk"
    power_on
    # A call that was stopped may have written part of a line, but each prints its ID at once.
    [ -z "$(sort "$BATS_TEST_TMPDIR"/given.* | uniq -d)" ]
  done
  [ "$(given)" -gt "$i" ]
  echo "# figure: power_cut/ext4 $i file systems shut down" >&3
  echo "# figure: power_cut/ext4 $(given) acknowledged grants" >&3
}
