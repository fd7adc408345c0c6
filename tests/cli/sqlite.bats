load support

setup() { new_store; }
teardown() { remove_store; }

file() { printf '%s' "${LEAFCTL_STORE#sqlite:}"; }

@test "init-db --runtime-role is refused before anything is made" {
  rm -f "$BATS_TEST_TMPDIR/leaf.db"
  expect 2 leafctl init-db --runtime-role app
  says "leafctl: a SQLite store has no roles: who may write its file may do everything
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

@test "a folder that is missing, and a folder in the file's place, are named" {
  expect 2 leafctl --store "sqlite:$BATS_TEST_TMPDIR/none/leaf.db" init-db
  contains "$stderr" "$BATS_TEST_TMPDIR/none"
  mkdir "$BATS_TEST_TMPDIR/folder"
  expect 2 leafctl --store "sqlite:$BATS_TEST_TMPDIR/folder" init-db
  contains "$stderr" "$BATS_TEST_TMPDIR/folder"
}

@test "a folder that takes no file is not taken for one that is missing" {
  expect 2 leafctl --store sqlite:/proc/leaf.db init-db
  says "leafctl: store '/proc/leaf.db' cannot be made in its folder
hint: check who may write to that folder, or name another path"
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
  printf 'COMMIT;\n.quit\n' >&"${LOCK[1]}"
  wait "$LOCK_PID" || true
  same 'an ID' 1 "$(leafctl next order)"
}
