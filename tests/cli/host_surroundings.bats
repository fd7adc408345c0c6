# What lies around the files of host state: users, rights, mounts, boots and namespaces. Most needs root.
load support
load host_support

setup() {
  new_initialized_store
  ids=$BATS_TEST_TMPDIR/ids
}
teardown() {
  end_host_test
  if [ -n "${shared:-}" ]; then rm -rf "$shared"; fi
}

# in_own_mounts SCRIPT: where the script may mount what it likes.
in_own_mounts() { unshare --mount bash -euc "$1"; }

need_root() { [ "$(id -u)" -eq 0 ] || skip 'needs root'; }
need_own_mounts() { in_own_mounts 'mount -t tmpfs none /mnt' 2>/dev/null || skip 'needs leave to mount'; }

# Users 65501 to 65503, who exist nowhere else, can reach the program and the store; $shared is a folder for all.
need_users() {
  need_root
  shared=$(mktemp -d)
  chmod 1777 "$shared"
  if [ "$TEST_STORE" = sqlite ]; then
    sqlite3 "$BATS_TEST_TMPDIR/leaf.db" 'PRAGMA journal_mode = DELETE' >/dev/null
    mkdir "$shared/store"
    mv "$BATS_TEST_TMPDIR/leaf.db" "$shared/store"
    chmod 0777 "$shared/store"
    chmod 0666 "$shared/store/leaf.db"
    export LEAFCTL_STORE=sqlite:$shared/store/leaf.db
  else
    export PGUSER=${PGUSER:-postgres}
  fi
  export HOME=$shared
  as 65501 leafctl --version >/dev/null || skip 'other users cannot run the program'
}

# as USER[:GROUP] COMMAND...
as() {
  local user=${1%:*} group=${1#*:}
  shift
  setpriv --reuid "$user" --regid "$group" --clear-groups "$@"
}

@test "after a boot nothing that was buffered before is used" {
  need_own_mounts
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  leafctl next --snowflake >"$ids.1"
  until_left order 19
  echo '01234567-89ab-cdef-0123-456789abcdef' >"$BATS_TEST_TMPDIR/boot"
  export BOOT=$BATS_TEST_TMPDIR/boot
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_own_mounts 'mount --bind "$BOOT" /proc/sys/kernel/random/boot_id
    leafctl status | wc -l; leafctl next order; leafctl next order; leafctl next --snowflake' >"$BATS_TEST_TMPDIR/out"
  same 'buffers of this boot' 0 "$(sed -n 1p "$BATS_TEST_TMPDIR/out")"
  same 'IDs' '21 22' "$(sed -n 2,3p "$BATS_TEST_TMPDIR/out" | xargs)"
  sed -n 4p "$BATS_TEST_TMPDIR/out" >>"$ids.1"
  all_different 2 "$ids.1"
  # And back: what the other boot has buffered is no more believed.
  leafctl next order >"$ids"
  [ "$(cat "$ids")" -ge 31 ]
}

@test "a copied folder is worth nothing beside the original" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  leafctl next --snowflake >"$ids.1"
  until_left order 19
  cp -a "$LEAFCTL_RUNTIME_DIR" "$BATS_TEST_TMPDIR/copy"
  same 'buffers in the copy' 0 "$(leafctl status --runtime-dir "$BATS_TEST_TMPDIR/copy" | wc -l)"
  for _ in 1 2 3; do
    leafctl next order
    leafctl next order --runtime-dir "$BATS_TEST_TMPDIR/copy"
  done >>"$ids"
  for _ in 1 2; do
    leafctl next --snowflake
    leafctl next --snowflake --runtime-dir "$BATS_TEST_TMPDIR/copy"
  done >>"$ids.1"
  all_different 7 "$ids"
  all_different 5 "$ids.1"
  # Put back over the original while that was used on.
  cp -a "$LEAFCTL_RUNTIME_DIR" "$BATS_TEST_TMPDIR/older"
  for _ in 1 2 3; do leafctl next order; done >>"$ids"
  rm -rf "$LEAFCTL_RUNTIME_DIR"
  cp -a "$BATS_TEST_TMPDIR/older" "$LEAFCTL_RUNTIME_DIR"
  for _ in 1 2 3; do leafctl next order; done >>"$ids"
  all_different 13 "$ids"
}

@test "namespaces of PIDs and of time change nothing" {
  need_root
  unshare --pid --fork --mount-proc true 2>/dev/null || skip 'no namespaces of PIDs'
  leafctl -q add-tag order --step 10
  for _ in {1..10}; do
    leafctl next order
    unshare --pid --fork --mount-proc leafctl next order
    leafctl next --snowflake >>"$ids.1"
    unshare --pid --fork --mount-proc leafctl next --snowflake >>"$ids.1"
    if unshare --time --fork true 2>/dev/null; then
      unshare --time --boottime 1000000 --monotonic 1000000 --fork leafctl next order
      unshare --time --boottime 1000000 --monotonic 1000000 --fork leafctl next --snowflake >>"$ids.1"
    fi
  done >"$ids"
  all_different "$(wc -l <"$ids")" "$ids"
  increasing "$ids"
  all_different "$(wc -l <"$ids.1")" "$ids.1"
  increasing "$ids.1"
}

@test "a folder on an overlay is refused" {
  need_own_mounts
  leafctl -q add-tag order
  mkdir "$BATS_TEST_TMPDIR/layers"
  export LAYERS=$BATS_TEST_TMPDIR/layers
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 2 in_own_mounts 'mount -t tmpfs none "$LAYERS"; cd "$LAYERS"; mkdir lower upper work all
    mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work all || exit 77
    leafctl next order --runtime-dir "$LAYERS/all/run"'
  prints ''
  contains "$stderr" "is not on a file system in memory (tmpfs)"
}

@test "a full file system is an error, not the end by a signal, and leaves nothing behind" {
  need_own_mounts
  leafctl -q add-tag order
  mkdir "$BATS_TEST_TMPDIR/small"
  export SMALL=$BATS_TEST_TMPDIR/small
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_own_mounts 'mount -t tmpfs -o size=64k,mode=700 none "$SMALL"
    leafctl next order --runtime-dir "$SMALL"
    rm "$SMALL"/*
    head -c 100000 /dev/zero >"$SMALL/full" 2>/dev/null || true
    for what in order --snowflake; do
      ended=0
      leafctl next $what --runtime-dir "$SMALL" 2>"$SMALL/../why" || ended=$?
      echo "status $ended"
      cat "$SMALL/../why"
    done
    ls "$SMALL"
    truncate -s 4096 "$SMALL/$(basename "$(sed -n "s,.*/\(worker-[^'\'']*\)'\''.*,\1,p" "$SMALL/../why")")"
    chmod 600 "$SMALL"/worker-*
    ended=0
    leafctl next --snowflake --runtime-dir "$SMALL" 2>/dev/null || ended=$?
    echo "status $ended"
    leafctl next order --runtime-dir "$SMALL" --no-host-buffer
    rm "$SMALL/full"
    leafctl next order --runtime-dir "$SMALL"' >"$BATS_TEST_TMPDIR/out"
  same 'the statuses' '1 1 1' "$(sed -n 's/^status //p' "$BATS_TEST_TMPDIR/out" | xargs)"
  same 'the hints' 2 "$(grep -c '^hint: make room there, or go without with --no-host-buffer$' "$BATS_TEST_TMPDIR/out")"
  same 'what is left' 1 "$(grep -c -x full "$BATS_TEST_TMPDIR/out")"
  same 'the reason' 2 "$(grep -c ': No space left on device$' "$BATS_TEST_TMPDIR/out")"
}

@test "a file that is cut to any length is replaced, and no ID comes twice" {
  leafctl -q add-tag order --step 10
  for size in 0 1 100 2048 4095 4097; do
    leafctl next order >>"$ids"
    until_nobody_fetches
    truncate -s $size "$LEAFCTL_RUNTIME_DIR"/tag-*
  done
  all_different 6 "$ids"
}

@test "links and whatever else lies where a file should be are refused, and left alone" {
  leafctl -q add-tag order --step 10
  leafctl next order >"$ids"
  until_left order 19
  file=$(echo "$LEAFCTL_RUNTIME_DIR"/tag-*)
  mv "$file" "$BATS_TEST_TMPDIR/victim"
  sum=$(sha256sum <"$BATS_TEST_TMPDIR/victim")
  for way in 'ln -s' ln; do
    $way "$BATS_TEST_TMPDIR/victim" "$file"
    expect 5 leafctl next order
    prints ''
    contains "$stderr" 'hint: somebody else has put it there; remove it'
    expect 5 leafctl status
    rm "$file"
    expect 0 leafctl next order
    until_nobody_fetches
    rm "$file"
  done
  mkfifo "$file"
  expect 5 leafctl next order
  contains "$stderr" 'is no regular file'
  rm "$file"
  (cd "$LEAFCTL_RUNTIME_DIR" && perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => shift, Listen => 1) or die' "${file##*/}")
  expect 5 leafctl next order
  says "leafctl: buffer file '$file' is no regular file
hint: somebody else has put it there; remove it"
  rm "$file"
  same 'the victim' "$sum" "$(sha256sum <"$BATS_TEST_TMPDIR/victim")"
  mv "$LEAFCTL_RUNTIME_DIR" "$BATS_TEST_TMPDIR/elsewhere"
  ln -s "$BATS_TEST_TMPDIR/elsewhere" "$LEAFCTL_RUNTIME_DIR"
  expect 5 leafctl next order
  contains "$stderr" 'is a symbolic link'
}

@test "rights looser than they should be are refused" {
  leafctl -q add-tag order --step 10
  for mask in 0000 0022 0077; do
    (umask $mask && leafctl next order >>"$ids")
    same 'the folder' 700 "$(stat -c %a "$LEAFCTL_RUNTIME_DIR")"
    same 'the file' 600 "$(stat -c %a "$LEAFCTL_RUNTIME_DIR"/tag-*)"
    until_nobody_fetches
    rm -r "$LEAFCTL_RUNTIME_DIR"
  done
  leafctl next order >>"$ids"
  chmod 02770 "$LEAFCTL_RUNTIME_DIR"
  expect 5 leafctl next order
  contains "$stderr" 'hint: share it with --group'
  for mode in 00701 00711 00750 00755 00770 00777 01777 02700; do
    chmod $mode "$LEAFCTL_RUNTIME_DIR"
    expect 5 leafctl next order
    prints ''
    contains "$stderr" "hint: if nobody else has written in it, 'chmod 00700 $LEAFCTL_RUNTIME_DIR' fixes it"
  done
  sh -c "$(sed -n "s/^hint: .*'\(chmod .*\)' fixes it$/\1/p" <<<"$stderr")"
  for mode in 400 604 644 660 666; do
    chmod $mode "$LEAFCTL_RUNTIME_DIR"/tag-*
    expect 5 leafctl next order
    contains "$stderr" "has mode $mode, not 600"
  done
  rm "$LEAFCTL_RUNTIME_DIR"/tag-*
  expect 0 leafctl next order
}

@test "two users have buffers of their own, and neither uses the other's folder" {
  need_users
  leafctl -q add-tag order --step 10
  for user in 65501 65502; do
    for _ in 1 2 3; do as $user leafctl next order --runtime-dir "$shared/run-$user"; done >"$ids.$user"
  done
  all_different 6 "$ids".*
  expect 5 as 65502 leafctl next order --runtime-dir "$shared/run-65501" ||
    expect 2 as 65502 leafctl next order --runtime-dir "$shared/run-65501"
  prints ''
  mkdir -m 777 "$shared/open"
  expect 5 as 65502 leafctl next order --runtime-dir "$shared/open"
  prints ''
  chmod 700 "$shared/open"
  chown 65501 "$shared/open"
  expect 5 leafctl next order --runtime-dir "$shared/open"
  contains "$stderr" 'belongs to another user'
}

@test "rights of files that somebody changed are put back as the hint says, and all goes on" {
  leafctl -q add-tag order
  same 'first' 1 "$(leafctl next order)"
  chmod -R 700 "$LEAFCTL_RUNTIME_DIR"
  local fixed=0
  until output=$(leafctl next order 2>"$BATS_TEST_TMPDIR/why") && [ ! -s "$BATS_TEST_TMPDIR/why" ]; do
    ((++fixed < 9))
    sed -n "s/.*, '\(chmod [^']*\)' fixes it$/\1/p" "$BATS_TEST_TMPDIR/why" | sh -e
  done
  ((fixed > 0))
  ((output > 1))
  for file in "$LEAFCTL_RUNTIME_DIR"/{store,tag}-*; do same "$file" 600 "$(stat -c %a "$file")"; done
  expect 0 leafctl doctor --exit-code
}

@test "doctor says what makes a folder for a user whose name for it another one has taken" {
  [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'
  TMPDIR=/var/tmp need_users
  need_own_mounts
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_own_mounts 'mount -t tmpfs none /run
    mount -t tmpfs -o mode=1777 none /dev/shm
    install -d -m 0700 -o 65501 /dev/shm/leafctl-65502
    as_user() { setpriv --reuid 65502 --clear-groups env -u LEAFCTL_RUNTIME_DIR leafctl doctor; }
    as_user >"$HOME/before"
    $(sed -n "s/.*\thave root run .\(install [^\x27]*\).*/\1/p" "$HOME/before")
    as_user >"$HOME/after"'
  contains "$(cat "$HOME/before")" "'/dev/shm/leafctl-65502' belongs to another user"
  lacks "$(cat "$HOME/after")" 'belongs to another user'
  contains "$(cat "$HOME/after")" "in '/run/leafctl-65502'"
}

@test "doctor names a folder where another user has taken the name, and root's folder is on a disk" {
  [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'
  TMPDIR=/var/tmp need_users
  need_own_mounts
  leafctl -q add-tag order
  # shellcheck disable=SC2016 # expanded by the inner shell
  in_own_mounts 'mkdir "$HOME/disk"
    mount --bind "$HOME/disk" /run
    mount -t tmpfs -o mode=1777 none /dev/shm
    install -d -m 0700 -o 65501 /dev/shm/leafctl-65502
    as_user() { setpriv --reuid 65502 --clear-groups env -u LEAFCTL_RUNTIME_DIR "$@"; }
    as_user leafctl doctor >"$HOME/before"
    folder=$(sed -n "s/.*, such as .\(.*\)., with --runtime-dir.*/\1/p" "$HOME/before")
    as_user leafctl doctor --runtime-dir "$folder" >"$HOME/after"
    as_user leafctl init-db --store sqlite:/dev/shm/own.db
    as_user leafctl add-tag order --store sqlite:/dev/shm/own.db
    as_user leafctl next order --store sqlite:/dev/shm/own.db --runtime-dir "$folder"
    as_user leafctl status --runtime-dir "$folder" >"$HOME/buffers"'
  contains "$(cat "$HOME/before")" "'/dev/shm/leafctl-65502' belongs to another user"
  lacks "$(cat "$HOME/after")" 'belongs to another user'
  contains "$(cat "$HOME/buffers")" 'order'
}

@test "--group shares the buffers with a group, under any umask, and with nobody else" {
  need_users
  leafctl -q add-tag order --step 10
  mkdir "$shared/run"
  chown 65501:65510 "$shared/run"
  chmod 2770 "$shared/run"
  export LEAFCTL_RUNTIME_DIR=$shared/run LEAFCTL_GROUP=yes
  for mask in 0000 0022 0077 0007; do
    for user in 65501 65502; do (umask $mask && as $user:65510 leafctl next order); done
  done >"$ids"
  seq 1 8 | diff - "$ids"
  same 'the file' '660 65510' "$(stat -c '%a %g' "$shared"/run/tag-*)"
  run --separate-stderr as 65503 leafctl next order
  [ "$status" -ne 0 ]
  prints ''
  for mode in 00770 02771 02775 03770 02777 00700; do
    chmod $mode "$shared/run"
    expect 5 as 65501:65510 leafctl next order
    prints ''
    contains "$stderr" "'chmod 02770 $shared/run' fixes it"
  done
  chmod 2770 "$shared/run"
  for mode in 666 640; do  # as cp(1) leaves it, of another member
    rm "$shared"/run/tag-*
    as 65501:65510 leafctl next order >>"$ids"
    chmod $mode "$shared"/run/tag-*
    expect 5 as 65501:65510 leafctl next order
    contains "$stderr" "has mode $mode, not 660"
  done
  expect 5 as 65502:65510 leafctl next order
  contains "$stderr" 'is closed to this user'
  contains "$stderr" 'hint: somebody else has put it there; remove it'
  rm "$shared"/run/tag-*
  as 65502:65510 leafctl next order >>"$ids"
  all_different 11 "$ids"
  unset LEAFCTL_GROUP
  for user in 65501 65502; do
    expect 5 as $user:65510 leafctl next order
    contains "$stderr" "leafctl: folder '$shared/run' is shared with a group
hint: share it with --group"
    as $user:65510 leafctl next order --group >>"$ids"
  done
  all_different 13 "$ids"
}

@test "what is done without the record that a group shares is warned of, and the hint leads to it" {
  need_users
  mkdir -p "$shared/run"
  chown 65501:65510 "$shared/run"
  chmod 2770 "$shared/run"
  export LEAFCTL_RUNTIME_DIR=$shared/run
  if [ "$TEST_STORE" = sqlite ]; then chgrp 65510 "$shared/store" "$shared/store/leaf.db" && chmod 2777 "$shared/store" && chmod 0660 "$shared/store/leaf.db"; fi
  for command in 'add-tag order --step 10' 'init-db --layout twitter'; do
    expect 0 as 65502:65510 leafctl $command
    contains "$stderr" "leafctl: warning: this host keeps no record of its grants, so it cannot detect a restored store: folder '$shared/run' is shared with a group
hint: share it with --group"
    expect 0 as 65502:65510 leafctl $command --group
    lacks "$stderr" warning
  done
  expect 0 as 65502:65510 leafctl init-db
  lacks "$stderr" warning
}

@test "a user whom the system does not know is told how to log in to PostgreSQL" {
  need_users
  [ "$TEST_STORE" = postgresql ] || skip 'SQLite has no roles'
  expect 2 as 65501:65510 env -u PGUSER leafctl tags list
  contains "$stderr" "hint: name the role to log in as: user=NAME in the store's URL, or PGUSER"
  expect 0 as 65501:65510 env PGUSER="$PGUSER" leafctl tags list
}

@test "--group makes a folder that its group can use" {
  need_users
  leafctl -q add-tag order --step 10
  export LEAFCTL_RUNTIME_DIR=$shared/run
  (umask 0077 && as 65501:65510 leafctl next order --group) >"$ids"
  same 'the folder' '2770 65510' "$(stat -c '%a %g' "$shared/run")"
  as 65502:65510 leafctl next order --group >>"$ids"
  seq 1 2 | diff - "$ids"
}

@test "without /proc a host has no buffers, as doctor and next say, and the store is asked where that is chosen" {
  need_root
  no_sanitizer asan 'it needs /proc itself'
  no_sanitizer tsan 'it needs /proc itself'
  need_own_mounts
  leafctl -q add-tag order
  without_proc() { unshare --mount bash -euc 'mount -t tmpfs none /proc; exec "$@"' bash leafctl "$@"; }
  expect 1 without_proc doctor --exit-code -o json
  contains "$output" "the system does not identify its boot"
  contains "$output" "\"hint\":\"mount '/proc'\""
  expect 1 without_proc next order
  contains "$stderr" "hint: mount '/proc', or go without the host's buffer with --no-host-buffer"
  for without in --no-host-buffer --direct; do
    expect 0 without_proc next order "$without"
    contains "$stderr" 'it cannot detect a restored store: the system does not identify its boot'
    same 'the hint' "hint: mount '/proc'" "${stderr_lines[-1]}"
  done
  # As all of them say.
  expect 0 unshare --mount bash -euc 'mount -t tmpfs none /proc; mount -t proc none /proc; leafctl next order'
  prints 3
  says ''
}
