load support

scripts=$BATS_TEST_DIRNAME/../../scripts

setup() {
  # Whatever would build, install or measure notes that it was called, and fails; every package is there.
  mkdir "$BATS_TEST_TMPDIR/bin"
  local command
  for command in cmake cpack ctest pg_virtualenv apt-get sudo git; do
    printf '#!/bin/sh\necho "%s $*" >>%q\nexit 1\n' "$command" "$BATS_TEST_TMPDIR/called" >"$BATS_TEST_TMPDIR/bin/$command"
  done
  printf '#!/bin/sh\nprintf installed\n' >"$BATS_TEST_TMPDIR/bin/dpkg-query"
  chmod +x "$BATS_TEST_TMPDIR/bin"/*
  export PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

nothing_was_called() {
  [ ! -e "$BATS_TEST_TMPDIR/called" ] || same 'what was called' '' "$(cat "$BATS_TEST_TMPDIR/called")"
}

@test "each script says what it does and takes, and does nothing else" {
  local script option
  for script in "$scripts"/*; do
    for option in --help -h; do
      expect 0 "$script" "$option"
      says ''
      contains "$output" "scripts/${script##*/}"
      lacks "$output" 'set -euo'
      nothing_was_called
    done
  done
}

@test "each script refuses what it does not know" {
  local script
  for script in "$scripts"/*; do
    expect 2 "$script" --nonsense
    prints ''
    contains "$stderr" "${script##*/}: "
    contains "$stderr" "'--nonsense'"
    nothing_was_called
  done
  expect 2 "$scripts/quickstart" here
  expect 2 "$scripts/test" --soak there
  expect 2 "$scripts/package" here there
  nothing_was_called
}

@test "what takes minutes says so before it begins" {
  local script
  for script in quickstart test package; do
    run --separate-stderr "$scripts/$script"
    contains "$(head -n 1 <<<"$output")" 'minutes'
  done
}
