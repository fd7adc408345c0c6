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

@test "the chart shows the medians that were measured, longest bar last" {
  cat >"$BATS_TEST_TMPDIR/figures" <<'EOF'
{"machine": "A & B, 2 cores", "rounds": 3, "rows": [{"name": "psql", "median": 22.34}, {"name": "next", "median": 1.306},
 {"name": "true", "median": 0.5}, {"name": "uuidgen", "median": 0.754}]}
EOF
  expect 0 "$scripts/chart" "$BATS_TEST_TMPDIR/figures"
  says ''
  same 'figures' '0.75 ms 1.31 ms 22 ms' "$(grep -o '>[0-9.]* ms<' <<<"$output" | tr -d '<>' | paste -sd ' ')"
  same 'widths' '13 22 380' "$(grep '^<rect' <<<"$output" | sed 's/.* width="\([0-9]*\)".*/\1/' | paste -sd ' ')"
  same 'own' 1 "$(grep -c '^<rect class="own"' <<<"$output")"
  contains "$output" 'medians of 3 rounds on A &amp; B, 2 cores'
  echo '{"rows": []}' >"$BATS_TEST_TMPDIR/figures"
  expect 5 "$scripts/chart" "$BATS_TEST_TMPDIR/figures"
  contains "$stderr" 'no row of leafctl next order'
}

@test "figures from elsewhere are read before anything is measured" {
  printf 'a peer\tns\t4.7\tits benchmark\nanother\tns\tfast\tnone\n' >"$BATS_TEST_TMPDIR/figures"
  expect 2 "$scripts/compare" --figures "$BATS_TEST_TMPDIR/figures"
  prints ''
  says "compare: $BATS_TEST_TMPDIR/figures:2: not NAME, UNIT, VALUE and COMMAND, parted by tabs"
  nothing_was_called
}
