load support

setup() { new_store; }
teardown() {
  remove_store
  if [ -n "${shared:-}" ]; then rm -rf "$shared"; fi
}

file() { printf '%s' "${LEAFCTL_STORE#sqlite:}"; }

@test "init-db --runtime-role is refused before anything is made" {
  rm -f "$BATS_TEST_TMPDIR/leaf.db"
  expect 2 leafctl init-db --runtime-role app
  says "leafctl: a SQLite store has no roles: whoever may write its file may do everything
hint: keep the file from others with 'chmod', or use PostgreSQL"
  expect 2 leafctl init-db --runtime-role app --dry-run
  [ ! -e "$BATS_TEST_TMPDIR/leaf.db" ]
}

@test "a text file is refused and left as it is" {
  printf 'to be or not to be, that is the question\n%.0s' {1..40} >"$(file)"
  cp "$(file)" "$BATS_TEST_TMPDIR/copy"
  for command in init-db 'init-db --dry-run' 'next order' 'tags list'; do
    expect 2 leafctl $command
    prints ''
    contains "$stderr" "$(file)"
    cmp "$(file)" "$BATS_TEST_TMPDIR/copy"
  done
}

@test "another program's database is refused and left as it is" {
  sqlite3 "$(file)" 'PRAGMA application_id = 42; CREATE TABLE notes (text)'
  cp "$(file)" "$BATS_TEST_TMPDIR/copy"
  for command in init-db 'next order' 'tags list'; do
    expect 2 leafctl $command
    prints ''
    cmp "$(file)" "$BATS_TEST_TMPDIR/copy"
  done
}

@test "a store restored from a backup that sqlite3 wrote as text goes on as after any restore" {
  expect 0 leafctl init-db
  expect 0 leafctl add-tag order
  expect 0 leafctl next order --direct
  sqlite3 "$(file)" .dump >"$BATS_TEST_TMPDIR/ids.sql"
  expect 0 leafctl next order --direct
  rm "$(file)" "$(file)-journal"
  sqlite3 "$(file)" <"$BATS_TEST_TMPDIR/ids.sql"
  expect 5 leafctl next order --direct
  expect 0 leafctl tags update order --raise-to 3
  expect 0 leafctl next order --direct
  prints 3
}

@test "a folder that is missing, and a folder in the file's place, are named" {
  expect 2 leafctl --store "sqlite:$BATS_TEST_TMPDIR/none/leaf.db" init-db
  contains "$stderr" "$BATS_TEST_TMPDIR/none"
  mkdir "$BATS_TEST_TMPDIR/folder"
  expect 2 leafctl --store "sqlite:$BATS_TEST_TMPDIR/folder" init-db
  contains "$stderr" "$BATS_TEST_TMPDIR/folder"
}

@test "a folder that takes no file is not taken for one that is missing" {
  expect 2 leafctl --store sqlite:/proc/leaf.db init-db
  says "leafctl: store '/proc/leaf.db' cannot be created in its folder
hint: check who may write to that folder, or name another path"
  expect 0 leafctl --store "sqlite:$BATS_TEST_TMPDIR/other.db" init-db
  expect 2 leafctl --store sqlite:/proc/none/leaf.db init-db
  contains "$stderr" "the folder of store '/proc/none/leaf.db' does not exist"
}

@test "init-db --dry-run creates no file, and its SQL does what init-db does" {
  expect 0 leafctl init-db --dry-run
  [ ! -e "$(file)" ]
  sqlite3 "$(file)" <<<"$output"
  expect 0 leafctl init-db
  contains "$stderr" 'up to date: '
  leafctl -q add-tag order
  same 'an ID' 1 "$(leafctl next order)"
}

@test "a database that is locked past the timeout is out of reach" {
  leafctl -q init-db
  leafctl -q add-tag order
  coproc LOCK { stdbuf -oL sqlite3 "$(file)" 3>&-; }
  echo "BEGIN IMMEDIATE; SELECT 'locked';" >&"${LOCK[1]}"
  read -r -t 30 answer <&"${LOCK[0]}"
  same 'the lock' locked "$answer"
  expect 3 leafctl --timeout 100ms next order
  prints ''
  contains "$stderr" "hint: try again, or allow more time with --timeout; see who holds a lock with 'leafctl doctor'"
  leafctl --timeout 60s next order >"$BATS_TEST_TMPDIR/waiting" 3>&- &
  printf 'COMMIT;\n.quit\n' >&"${LOCK[1]}"
  wait "$LOCK_PID" || true
  wait $!
  same 'an ID' 1 "$(cat "$BATS_TEST_TMPDIR/waiting")"
  same 'an ID' 2 "$(leafctl next order)"
}

# killed_in_commit STORE: a call that dies when its commit has written the file, and only the journal has to go.
killed_in_commit() {
  strace -f -qq -o /dev/null -e trace=ftruncate -e inject=ftruncate:signal=KILL:when=1 \
    leafctl --store "sqlite:$1" next order --direct -n 5 >/dev/null 2>&1 || true
  if [ ! -s "$(file)-journal" ]; then
    echo "no journal was left beside $(file)"
    return 1
  fi
}

# draw STORE COUNT: calls for one ID each, straight from the store.
draw() { for ((i = 0; i < $2; ++i)); do leafctl --store "sqlite:$1" next order --direct || return; done; }

need_strace() { strace -qq -o /dev/null true 2>/dev/null || skip 'needs strace'; }

# in_own_mounts SCRIPT: where the script may mount what it likes.
in_own_mounts() { unshare --mount bash -euc "$1"; }

@test "a large import needs no folder for temporary files" {
  in_own_mounts 'mount -t tmpfs none /mnt' 2>/dev/null || skip 'needs leave to mount'
  mkdir "$BATS_TEST_TMPDIR/data"
  {
    echo tag,next_id
    seq -f 'tag-of-a-longer-name-%g,1' 20000
  } >"$BATS_TEST_TMPDIR/data/tags.csv"
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 in_own_mounts 'mount --bind "$BATS_TEST_TMPDIR/data" /mnt
    for folder in /tmp /var/tmp; do
      mount --bind "$folder" "$folder"
      mount -o remount,bind,ro "$folder"
    done
    cd /tmp
    export HOME=/mnt LEAFCTL_STORE=sqlite:/mnt/leaf.db LEAFCTL_RUNTIME_DIR=/mnt/run
    unset SQLITE_TMPDIR TMPDIR
    leafctl -q init-db
    leafctl -q tags import /mnt/tags.csv
    leafctl -q next tag-of-a-longer-name-20000 --direct'
  prints 1
}

@test "a file with two names gives no IDs by either, so that none come twice after a crash" {
  need_strace
  leafctl -q init-db
  leafctl -q add-tag order
  ids=$BATS_TEST_TMPDIR/ids
  other=$BATS_TEST_TMPDIR/other.db
  draw "$(file)" 3 >"$ids"
  killed_in_commit "$(file)"
  ln "$(file)" "$other"
  draw "$other" 20 >>"$ids" || true
  draw "$(file)" 20 >>"$ids" || true
  all_different 3 "$ids"
  expect 5 leafctl --store "sqlite:$other" next order --direct
  prints ''
  contains "$stderr" "leafctl: store '$other' has more than one name"
  # The hint, literally but for where it looks: elsewhere other tests remove folders, which ends a search.
  command=$(sed -n "s|^hint: 'find / \(-samefile [^']*\)' lists its names: keep only one.*|find $BATS_TEST_TMPDIR \1|p" <<<"$stderr")
  names=$($command)
  same 'the names' 2 "$(wc -l <<<"$names")"
  kept=
  for name in $names; do if [ -s "$name-journal" ]; then kept=$name; else rm "$name"; fi; done
  same 'the name with the journal' "$(file)" "$kept"
  draw "$kept" 20 >>"$ids"
  all_different 23 "$ids"
  increasing "$ids"
}

@test "a symbolic link leads to the journal that a crash left beside the file" {
  need_strace
  leafctl -q init-db
  leafctl -q add-tag order
  ids=$BATS_TEST_TMPDIR/ids
  mkdir "$BATS_TEST_TMPDIR/elsewhere"
  link=$BATS_TEST_TMPDIR/elsewhere/link.db
  ln -s "$(file)" "$link"
  draw "$link" 3 >"$ids"
  killed_in_commit "$link"
  draw "$(file)" 20 >>"$ids"
  killed_in_commit "$(file)"
  draw "$link" 20 >>"$ids"
  draw "$(file)" 20 >>"$ids"
  all_different 63 "$ids"
  increasing "$ids"
}

@test "a file that is mounted without its folder is refused, and with its folder it is not" {
  in_own_mounts 'mount -t tmpfs none /mnt' 2>/dev/null || skip 'needs leave to mount'
  mkdir "$BATS_TEST_TMPDIR/store" "$BATS_TEST_TMPDIR/data"
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/store/leaf.db
  leafctl -q init-db
  leafctl -q add-tag order
  export FOLDER=$BATS_TEST_TMPDIR
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 5 in_own_mounts 'touch "$FOLDER/data/leaf.db"
    mount --bind "$FOLDER/store/leaf.db" "$FOLDER/data/leaf.db"
    ln -s leaf.db "$FOLDER/data/link.db"
    leafctl --store "sqlite:$FOLDER/data/link.db" next order --direct && exit 1
    leafctl --store "sqlite:$FOLDER/data/leaf.db" next order --direct'
  prints ''
  contains "$stderr" "leafctl: store '$FOLDER/data/leaf.db' is mounted without its folder"
  contains "$stderr" 'hint: mount the folder that the file lies in, rather than the file'
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 in_own_mounts 'mount --bind "$FOLDER/store" "$FOLDER/data"
    leafctl --store "sqlite:$FOLDER/data/leaf.db" next order --direct'
  prints 1
  same 'an ID' 2 "$(leafctl next order --direct)"
  # Beside its folder, its journal alone.
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 5 in_own_mounts 'touch "$FOLDER/journal"
    mount --bind "$FOLDER/journal" "$FOLDER/store/leaf.db-journal"
    leafctl next order --direct'
  contains "$stderr" "leafctl: the journal of store '$FOLDER/store/leaf.db' is mounted without its folder"
  contains "$stderr" 'hint: mount the folder that the file lies in, rather than the file'
  same 'an ID' 3 "$(leafctl next order --direct)"
}

@test "a store in another root is not looked for, nor made, at the same place of one's own" {
  in_own_mounts 'mount -t tmpfs none /mnt' 2>/dev/null || skip 'needs leave to mount'
  mkdir "$BATS_TEST_TMPDIR/app"
  export LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/app/leaf.db
  # shellcheck disable=SC2016 # expanded by the inner shell
  coproc APP { exec unshare --mount bash -c 'mount -t tmpfs none "$BATS_TEST_TMPDIR/app" && leafctl -q init-db && echo ready
    read -r _' 3>&-; }
  local app=$APP_PID
  read -r -t 30 answer <&"${APP[0]}"
  same 'the store' ready "$answer"
  for name in leaf.db new.db; do
    store=/proc/$app/root$BATS_TEST_TMPDIR/app/$name
    for command in init-db 'init-db --dry-run' 'next order --direct' 'tags list'; do
      expect 2 leafctl --store "sqlite:$store" $command
      prints ''
      says "leafctl: SQLite cannot follow the path of store '$store': a link on it leads elsewhere than its text says, as links in /proc do
hint: name it by a path that this process sees"
    done
  done
  same 'the files here' '' "$(ls "$BATS_TEST_TMPDIR/app")"
  nsenter --target "$app" --mount leafctl -q add-tag order
  echo >&"${APP[1]}"
  wait "$app" || true
}

@test "where statx is refused, as by old container engines, it is named" {
  need_strace
  leafctl -q init-db
  leafctl -q add-tag order
  expect 2 strace -f -qq -o /dev/null -e trace=statx -e inject=statx:error=EPERM leafctl next order --direct
  says "leafctl: store '$(file)' cannot be looked at: this process may not call statx(2)
hint: allow statx in the seccomp profile of its container: engines from before 2018 refuse it"
  expect 0 leafctl next order --direct
}

@test "a pipe in a journal's place is refused, and nobody waits for its other end" {
  leafctl -q init-db
  leafctl -q add-tag order
  for end in journal wal shm; do
    place=$(file)-$end
    rm -f "$place"
    mkfifo "$place"
    for command in 'next order --direct' 'next --snowflake' 'tags list' init-db 'init-db --dry-run'; do
      expect 5 timeout -k 1 60 leafctl --timeout 100ms $command
      prints ''
      says "leafctl: '$place' is a link, or not a file: store '$(file)' has its journal there
hint: remove it if nobody needs it, and check who may write to its folder"
    done
    expect 0 timeout -k 1 60 leafctl --timeout 100ms doctor
    contains "$output" "'$place' is a link, or not a file"
    rm "$place"
    expect 0 leafctl next order --direct
  done
}

@test "a store that another program holds open in WAL mode says so, and works once it is closed" {
  leafctl -q init-db
  leafctl -q add-tag order
  coproc WAL { stdbuf -oL sqlite3 "$(file)" 3>&-; }
  echo 'PRAGMA journal_mode = WAL; SELECT count(*) FROM leaf_alloc;' >&"${WAL[1]}"
  read -r -t 30 answer <&"${WAL[0]}"
  same 'the mode' wal "$answer"
  read -r -t 30 answer <&"${WAL[0]}"
  expect 3 leafctl --timeout 100ms next order --direct
  prints ''
  says "leafctl: store '$(file)' is in WAL mode, held open by another program
hint: close it in that program, then try again"
  echo '.quit' >&"${WAL[1]}"
  wait "$WAL_PID" || true
  same 'an ID' 1 "$(leafctl next order --direct)"
  [ ! -e "$(file)-wal" ]
}

@test "a limit of the size of files that SQLite runs into in the middle is named too" {
  leafctl -q init-db
  leafctl -q add-tag order
  limited() (
    ulimit -f "$1"
    shift
    "$@" 2>&1 | cat
    exit "${PIPESTATUS[0]}"
  )
  for command in 'next order --direct' 'add-tag bill' 'tags update order --step 7' 'workers acquire'; do
    expect 3 limited 8 leafctl $command
    prints "leafctl: store '$(file)' failed: disk I/O error (File too large)
hint: allow this process larger files: 'ulimit -f unlimited'"
  done
  expect 3 limited 8 leafctl --store "sqlite:$BATS_TEST_TMPDIR/new.db" init-db
  contains "$output" "disk I/O error (File too large)
hint: allow this process larger files: 'ulimit -f unlimited'"
  same 'an ID' 1 "$(leafctl next order --direct)"
}

@test "a limit of the size of files is an error with its cause, not the end by a signal" {
  no_sanitizer tsan 'it writes a file itself'
  leafctl -q init-db
  leafctl -q add-tag order
  small() (
    ulimit -f 0
    "$@" 2>&1 | cat
    exit "${PIPESTATUS[0]}"
  )
  expect 3 small leafctl next order --direct
  contains "$output" "leafctl: warning: this host keeps no record of its grants, so it cannot detect a restored store: no file can be created in folder '$LEAFCTL_RUNTIME_DIR': File too large
hint: allow this process larger files: 'ulimit -f unlimited'"
  contains "$output" "leafctl: store '$(file)' failed: disk I/O error (File too large)
hint: allow this process larger files: 'ulimit -f unlimited'"
  expect 1 small leafctl next order
  contains "$output" ": File too large
hint: allow this process larger files: 'ulimit -f unlimited'"
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect 0 bash -c 'ulimit -S -f 0; '"$(sed -n "s/^hint: .*'\(.*\)'$/\1/p" <<<"$output")"'; leafctl next order --direct'
  prints 1
  expect 1 small sh -c "leafctl decode 1 >$BATS_TEST_TMPDIR/out"
  prints 'leafctl: cannot write to standard output: File too large'
  same 'an ID' 2 "$(leafctl next order --direct)"
}

@test "what the system refuses SQLite has a status and a hint by its cause" {
  need_strace
  leafctl -q init-db
  leafctl -q add-tag order
  # refused STATUS HINT CALLS ERROR
  refused() {
    expect "$1" strace -f -qq -o /dev/null -P "$(file)" -P "$(file)-journal" -e inject="$3:error=$4" \
      leafctl next order --direct
    prints ''
    same "the hint for $3 and $4" "hint: $2" "${stderr_lines[1]}"
  }
  local disk='check the disk' full='free some space there'
  local rights="check who may write to the file, its '-journal' and its folder"
  refused 2 'check the path and who may write to its folder' openat EACCES
  refused 3 "$disk" openat EIO
  refused 3 "$disk" openat ESTALE
  refused 3 "$disk" pread64,read EIO
  refused 3 "$disk" pwrite64,write EIO
  refused 3 "$full" pwrite64,write ENOSPC
  refused 3 "$full" pwrite64,write EDQUOT
  refused 3 "allow this process more memory, see 'ulimit -v', or free some" pwrite64,write ENOMEM
  refused 3 "its file system is read-only: find out why in the kernel's log, and mount it for writing" pwrite64,write EROFS
  refused 3 "$disk" fdatasync,fsync EIO
  refused 3 "$disk" ftruncate EIO
  # Whoever finds what a crash has left removes it, which is not theirs to do in a folder such as /tmp.
  killed_in_commit "$(file)"
  refused 2 "$rights" unlink EPERM
  expect 0 leafctl next order --direct
}

@test "too few open files are no mistake of the caller's, wherever they run out" {
  need_strace
  leafctl -q init-db
  leafctl -q add-tag order --step 1
  mkdir -p "$HOME/.config/leafctl"
  touch "$HOME/.config/leafctl/leafctl.yaml"
  local trace=$BATS_TEST_TMPDIR/trace statuses='' hints='' first at what
  strace -qq -o "$trace" -e trace=openat leafctl --version >/dev/null
  first=$(sed -n '/libc\.so/=' "$trace" | tail -n 1) # what comes before is the loader's
  for what in 'next order --direct' 'next order' 'next --snowflake --window 10ms'; do
    for ((at = first + 1; ; ++at)); do
      eventually rm -rf "$LEAFCTL_RUNTIME_DIR" 2>/dev/null  # a detached fetch may be at it
      status=0
      # shellcheck disable=SC2086 # several words
      strace -qq -o "$trace" -e trace=openat -e inject="openat:error=EMFILE:when=$at+" \
        leafctl --timeout 100ms $what >"$trace.out" 2>"$trace.err" || status=$?
      output=$(cat "$trace.out") stderr=$(cat "$trace.err")
      grep -q INJECTED "$trace" || break
      statuses+=" $status"
      case $status in
        0) ;;
        1 | 3)
          prints ''
          contains "$stderr" 'Too many open files'
          if [[ $stderr == *"hint: allow this process more open files, see 'ulimit -n'" ]]; then hints+=" $what"; fi
          ;;
        *)
          echo "$what: status $status with $(tail -n 1 "$trace"): $stderr"
          return 1
          ;;
      esac
    done
    # shellcheck disable=SC2086 # several words
    expect 0 leafctl $what  # with all that it opens, and with more time
  done
  contains "$statuses" ' 1'
  contains "$statuses" ' 3'
  for what in ' next order --direct' ' next order' ' next --snowflake'; do contains "$hints" "$what"; done
}

@test "too little memory is no mistake of the caller's, wherever it runs out" {
  runs_within 200000
  leafctl -q init-db
  leafctl -q add-tag order
  local kib refused=0
  for ((kib = 4000; kib < 200000; kib += 100)); do
    bash -c "ulimit -v $kib; leafctl --version" &>/dev/null || continue # the loader's own end
    run --separate-stderr bash -c "ulimit -v $kib; leafctl next order --direct"
    [ "$status" -ne 0 ] || break
    same "the status with $kib KiB" 3 "$status"
    contains "$stderr" "hint: allow this process more memory, see 'ulimit -v', or free some"
    refused=$((refused + 1))
  done
  same 'the status with enough' 0 "$status"
  [ "$refused" -gt 5 ]
  # As the hint says.
  expect 0 bash -c "ulimit -S -v $((kib - 100)); ulimit -v unlimited; leafctl next order --direct"
}

# Users 65501 to 65503, who exist nowhere else, can reach the program; the first two have a group in common. $shared is
# a folder for all.
need_users() {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  shared=$(mktemp -d)
  chmod 1777 "$shared"
  export HOME=$shared LEAFCTL_RUNTIME_DIR=$shared/none
  as 65501 leafctl --version >/dev/null || skip 'other users cannot run the program'
}

# as USER COMMAND...
as() {
  local user=$1 group=65510
  shift
  [ "$user" != 65503 ] || group=65503
  setpriv --reuid "$user" --regid "$group" --clear-groups "$@"
}

# rights FILE...: mode, user and group of each.
rights() { stat -c '%a %u %g' "$@"; }

# used_by_the_group STORE_FOLDER: both users of the group draw IDs, one goes on where the other died, and nobody else can.
used_by_the_group() {
  need_strace
  local store=$1/leaf.db ids=$BATS_TEST_TMPDIR/ids.$1 user mask
  mkdir -p "$(dirname "$ids")"
  : >"$ids"
  export LEAFCTL_STORE=sqlite:$store LEAFCTL_GROUP=yes LEAFCTL_RUNTIME_DIR=$shared/run
  for mask in 0000 0077; do
    for user in 65501 65502 65501; do (umask $mask && as $user leafctl next order --direct >>"$ids"); done
  done
  for user in 65501 65502; do
    rm -f "$store-journal"
    as $user strace -f -qq -o /dev/null -e trace=ftruncate -e inject=ftruncate:signal=KILL:when=1 \
      leafctl next order --direct >/dev/null 2>&1 || true
    same 'the journal' "660 $user 65510" "$(rights "$store-journal")"
    [ -s "$store-journal" ]
    for other in 65502 65501; do as $other leafctl next order --direct >>"$ids"; done
  done
  for user in 65502 65501; do as $user leafctl next order >>"$ids"; done
  all_different 12 "$ids"
  run --separate-stderr as 65503 leafctl next order --direct
  [ "$status" -ne 0 ]
  prints ''
}

@test "init-db --group makes a store in a folder of a group that the group can use" {
  need_users
  mkdir "$shared/store"
  chown 65501:65510 "$shared/store"
  export LEAFCTL_STORE=sqlite:$shared/store/leaf.db
  for mode in 00700 00750 00770 02750 00777; do
    chmod $mode "$shared/store"
    expect 2 as 65501 leafctl init-db --group
    contains "$stderr" "leafctl: the group of folder '$shared/store' cannot use a store in it"
    [ ! -e "$shared/store/leaf.db" ]
  done
  chmod 00700 "$shared/store"
  expect 2 as 65501 leafctl init-db --group
  as 65501 sh -c "$(sed -n "s/^hint: '\(chmod .*\)' lets it.*/\1/p" <<<"$stderr")"
  (umask 0077 && as 65501 leafctl -q init-db --group)
  same 'the rights' '660 65501 65510' "$(rights "$shared/store/leaf.db")"
  as 65502 leafctl -q init-db --group
  as 65501 leafctl -q add-tag order --step 1
  used_by_the_group "$shared/store"
}

@test "init-db --group opens a store that was there to the group, and what lies beside it" {
  need_users
  mkdir -m 0777 "$shared/store"
  export LEAFCTL_STORE=sqlite:$shared/store/leaf.db
  (umask 0077 && as 65501 leafctl -q init-db)
  as 65501 leafctl -q add-tag order --step 1
  same 'the rights' '600 65501 65510' "$(rights "$shared/store/leaf.db")"
  chgrp 65510 "$shared/store"
  chmod 2770 "$shared/store"
  [ -e "$shared/store/leaf.db-journal" ]
  chmod 0666 "$shared"/store/leaf.db{,-journal}
  expect 1 as 65502 leafctl init-db --group
  contains "$stderr" "leafctl: cannot share with the group of its folder '$shared/store/leaf.db': Operation not permitted
hint: have the owner of that file run 'leafctl init-db --group'"
  as 65501 leafctl -q init-db --group
  same 'the rights' "660 65501 65510
660 65501 65510" "$(rights "$shared"/store/leaf.db{,-journal})"
  # Who may not change it need not, where it is as it should be.
  as 65502 leafctl -q init-db --group
  used_by_the_group "$shared/store"
}

@test "init-db --group makes a default folder that the group can use, and root one for a group" {
  need_users
  mkdir -m 0755 "$shared/state"
  chown 65501:65510 "$shared/state"
  export XDG_STATE_HOME=$shared/state/a/b
  unset LEAFCTL_STORE
  (umask 0077 && as 65501 leafctl -q init-db --group)
  same 'the folder' '2770 65501 65510' "$(rights "$XDG_STATE_HOME/leafctl")"
  same 'the file' '660 65501 65510' "$(rights "$XDG_STATE_HOME/leafctl/leaf.db")"
  as 65502 leafctl -q add-tag order --step 1
  used_by_the_group "$XDG_STATE_HOME/leafctl"
  unset LEAFCTL_STORE LEAFCTL_GROUP
  # Where the group of the folder is not that of who makes the store.
  mkdir "$shared/of_root"
  chgrp 65510 "$shared/of_root"
  chmod 2770 "$shared/of_root"
  leafctl -q init-db --group --store "sqlite:$shared/of_root/leaf.db"
  same 'the file' '660 0 65510' "$(rights "$shared/of_root/leaf.db")"
  as 65502 leafctl --store "sqlite:$shared/of_root/leaf.db" -q add-tag order
}

@test "init-db --group changes no file that a link in a journal's place leads to" {
  need_users
  mkdir "$shared/store"
  chgrp 65510 "$shared/store"
  chmod 2770 "$shared/store"
  echo secret >"$shared/victim"
  chmod 0600 "$shared/victim"
  for way in 'ln -s' ln; do
    $way "$shared/victim" "$shared/store/leaf.db-journal"
    expect 5 leafctl init-db --group --store "sqlite:$shared/store/leaf.db"
    contains "$stderr" "leafctl: '$shared/store/leaf.db-journal' is a link, or not a file"
    contains "$stderr" 'hint: remove it if somebody else has put it there'
    same 'the victim' '600 0 0' "$(rights "$shared/victim")"
    same 'its content' secret "$(cat "$shared/victim")"
    rm "$shared/store/leaf.db-journal"
    expect 0 leafctl init-db --group --store "sqlite:$shared/store/leaf.db"
    rm -f "$shared"/store/*
  done
}

@test "init-db --group gives no file away that a link leads to, or that is no store" {
  need_users
  mkdir "$shared/ids" "$shared/team"
  chgrp 65510 "$shared/ids" "$shared/team"
  chmod 2770 "$shared/ids" "$shared/team"
  local key=$shared/team/key store=$shared/ids/leaf.db
  echo secret >"$key"
  chmod 0600 "$key"
  chgrp 0 "$key"
  export LEAFCTL_STORE=sqlite:$store
  as 65501 ln -s "$key" "$store"
  expect 5 leafctl init-db --group
  contains "$stderr" "leafctl: '$store' is a link, or not a file"
  contains "$stderr" 'hint: name the file that it leads to; remove the link if somebody else has put it there'
  same 'the key' '600 0 0' "$(rights "$key")"
  rm "$store"
  # What is moved there is root's own, and has one name.
  as 65501 mv "$key" "$store"
  expect 2 leafctl init-db --group
  same 'the key' '600 0 0' "$(rights "$store")"
  as 65501 mv "$store" "$key"
  leafctl -q init-db --group
  # In the place of a store that was there.
  as 65501 mv "$store" "$shared/ids/away.db"
  as 65501 ln -s "$shared/ids/away.db" "$store"
  chmod 0600 "$shared/ids/away.db"
  expect 5 leafctl init-db --group
  same 'the store' '600 0 65510' "$(rights "$shared/ids/away.db")"
  as 65501 mv "$shared/ids/away.db" "$store"
  chown 65502 "$store"
  expect 1 leafctl init-db --group
  contains "$stderr" "leafctl: cannot share with the group of its folder '$store': Operation not permitted"
  same 'the store' '600 65502 65510' "$(rights "$store")"
  chown 0 "$store"
  expect 0 leafctl init-db --group
  same 'the store' '660 0 65510' "$(rights "$store")"
  same 'the key' '600 0 0 secret' "$(rights "$key") $(cat "$key")"
}

@test "a tag that has given the last ID of all is used up after a restore too, as the hints say" {
  local last=9223372036854775806 past=9223372036854775807
  cd "$BATS_TEST_TMPDIR"
  leafctl -q init-db
  cp leaf.db empty.db
  leafctl -q add-tag order --start $((last - 9))
  cp leaf.db backup.db
  leafctl next order -n 10 --ranges
  cp backup.db leaf.db
  expect 5 leafctl next order --direct
  contains "$stderr" "tags update order --raise-to $past"
  expect 0 leafctl tags update order --raise-to $past
  expect 6 leafctl next order
  lacks "$(leafctl doctor)" 'the store has gone back'
  cp empty.db leaf.db
  expect 5 leafctl add-tag order
  contains "$stderr" "add-tag order --start $past"
  expect 0 leafctl add-tag order --start $past
  expect 6 leafctl next order
  expect 6 leafctl next order --direct
}

@test "doctor looks at the folder of the file itself, where a link leads to it" {
  need_users
  mkdir -m 0777 "$shared/store"
  mkdir -m 0755 "$shared/links"
  ln -s ../store/leaf.db "$shared/links/leaf.db"
  export LEAFCTL_STORE=sqlite:$shared/links/leaf.db
  as 65501 leafctl -q init-db
  as 65501 leafctl -q add-tag order
  contains "$(as 65501 leafctl doctor)" $'rights\tok\t'
  chmod 0755 "$shared/store"
  contains "$(as 65501 leafctl doctor)" "this user lacks writing folder '$shared/store'"
}
