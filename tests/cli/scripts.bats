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

@test "the tests lend themselves a PostgreSQL that a killed run before them cannot take away" {
  # As root, pg_virtualenv makes the machine's cluster "regress" unless it is told -t, and refuses where one is left.
  local tree=$BATS_TEST_TMPDIR/tree command
  mkdir -p "$tree/scripts"
  cp "$scripts/test" "$tree/scripts"
  for command in "$tree"/scripts/{install-packages,check} "$BATS_TEST_TMPDIR/bin"/{cmake,git,pg_virtualenv}; do
    printf '#!/bin/sh\necho "%s $*" >>%q\n' "${command##*/}" "$BATS_TEST_TMPDIR/called" >"$command"
    chmod +x "$command"
  done
  expect 0 "$tree/scripts/test"
  contains "$(grep '^pg_virtualenv ' "$BATS_TEST_TMPDIR/called")" 'pg_virtualenv -t '
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

# report_tree: a tree with just what the report reads, and two mutants, in $tree.
report_tree() {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree"/{scripts,docs,man,tests/mutants}
  cp "$scripts/report" "$tree/scripts"
  cp "$scripts/../docs/testing.md.in" "$tree/docs"
  cp "$scripts/../man/leafctl.1.in" "$tree/man"
  cp "$scripts/../tests/mutants/promises.txt" "$tree/tests/mutants"
  mkdir "$tree/tests/simulation"
  cp "$scripts/../tests/simulation/mutants" "$tree/tests/simulation"
  printf 'order_is_lost\t7\n' >"$tree/tests/simulation/caught.tsv"
  echo '# breaks: the clock stops / caught by: clock_test, clock: it, too, goes* / promise: unique' >"$tree/tests/mutants/clock_stops.patch"
  echo '# breaks: order is lost / caught by: range_test, range: x / promise: ordered' >"$tree/tests/mutants/order_is_lost.patch"
  printf 'rarely_lost\tseed 23 of names\n' >>"$tree/tests/simulation/caught.tsv"
  echo '# breaks: order is rarely lost / caught by: range_test, range: x / promise: ordered' >"$tree/tests/mutants/rarely_lost.patch"
  printf 'row_is_lost\tstore model\n' >>"$tree/tests/simulation/caught.tsv"
  echo '# breaks: a row is lost / caught by: range_test, range: x / promise: ordered' >"$tree/tests/mutants/row_is_lost.patch"
  printf '+++ b/lib/range/range.cpp\n' >>"$tree/tests/mutants/order_is_lost.patch"
}

@test "the report has the manual's promises and the mutants that break each" {
  report_tree
  expect 0 "$tree/scripts/report"
  prints ''
  page=$(<"$tree/docs/testing.md")
  contains "$page" '> No ID of a tag, and no snowflake ID of a store, is returned twice: '
  contains "$page" 'Calls with `--direct` are in this order across hosts'
  contains "$page" 'there are 4 **mutants**'
  contains "$page" '| [Unique](#unique): no ID is returned twice | 1 | `clock_test` 1 |'
  contains "$page" '- [clock_stops](../tests/mutants/clock_stops.patch): the clock stops (`clock_test`)'
  contains "$page" 'order is lost (`range_test`; 7 simulated histories)'
  contains "$page" 'order is rarely lost (`range_test`; the simulated history of seed 23 of names)'
  contains "$page" 'It catches 2 mutants, '
  contains "$page" 'a row is lost (`range_test`; the store model)'
  contains "$page" 'It notices 1 mutant of the SQL.'
  contains "$page" 'It notices 0 mutants that'
  contains "$page" "Of 1 mutant of the protocol's code, they notice 1."
  contains "$page" 'No run was reported yet.'
  lacks "$page" '@'
  expect 0 "$tree/scripts/report" --check
  prints ''
}

@test "the report has the figures of the runs that it is given, and keeps them" {
  report_tree
  cat >"$BATS_TEST_TMPDIR/run.xml" <<'EOF'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="1" disabled="0" skipped="1" hostname="" time="9" timestamp="2026-01-02T03:04:05">
	<testcase name="race_test" classname="race_test" time="7.6" status="run">
		<system-out>figure: race/tag 1234567 IDs drawn
figure: race/tag 3 kills
not a figure: race/tag 9 kills
[doctest] test cases:  2 |  2 passed | 0 failed | 2 skipped
[doctest] assertions: 1500 | 1500 passed | 0 failed |
</system-out>
	</testcase>
	<testcase name="cli_next" classname="cli_next" time="1" status="run">
		<system-out>1..3
ok 1 one
# figure: host_kill/sqlite 20 kills
# figure: host_kill/sqlite 30 kills
ok 2 two # skip not here
ok 3 three
</system-out>
	</testcase>
	<testcase name="model_window" classname="model_window" time="1" status="fail">
		<failure message=""/>
		<system-out>figure: models/window 77 states
</system-out>
	</testcase>
	<testcase name="race_soak" classname="race_soak" time="1" status="run">
		<system-out>figure: race/tag 3 kills
</system-out>
	</testcase>
	<testcase name="absent" classname="absent" time="0" status="notrun">
		<skipped message="Disabled"/>
	</testcase>
</testsuite>
EOF
  expect 0 "$tree/scripts/report" --stamp 1a2b3c4 "$BATS_TEST_TMPDIR/run.xml"
  expect 0 "$tree/scripts/report" "$BATS_TEST_TMPDIR/run.xml"
  prints ''
  page=$(<"$tree/docs/testing.md")
  contains "$page" '1. 2026-01-02, commit `1a2b3c4`, '
  contains "$page" ': of 4 test programs 3 passed, **1 failed** (`model_window`); left out: `absent`. 4 cases, 1,500 assertions.'
  contains "$page" '| race/tag | 1,234,567 IDs drawn, 6 kills | `race_test`, `race_soak` | 1 |'
  contains "$page" '| host_kill/sqlite | 50 kills | `cli_next` | 1 |'
  contains "$page" '| models/window | 77 states | `model_window` (failed) | 1 |'
  contains "$page" '| `race_test` | 2 | 1,500 | 8 | 1 |'
  contains "$page" 'Not part of these runs: `cli_'
  contains "$page" ', `mutants_1`, '
  lacks "$(grep '^Not part' <<<"$page")" '`race_test`'
  expect 0 "$tree/scripts/report"
  same 'the page' "$page" "$(<"$tree/docs/testing.md")"
  # What is of one commit and machine is one run.
  sed 's/race_/storm_/g' "$BATS_TEST_TMPDIR/run.xml" >"$BATS_TEST_TMPDIR/more.xml"
  sed 's/1a2b3c4/5d6e7f8/' "$BATS_TEST_TMPDIR/run.xml" >"$BATS_TEST_TMPDIR/later.xml"
  expect 0 "$tree/scripts/report" "$BATS_TEST_TMPDIR"/{run,more,later}.xml
  page=$(<"$tree/docs/testing.md")
  contains "$page" ': of 8 test programs 6 passed, '
  contains "$page" '| race/tag | 2,469,134 IDs drawn, 12 kills | 4 programs | 1 |'
  contains "$page" '2. 2026-01-02, commit `5d6e7f8`, '
}

@test "the report says what is out of date, and what it cannot read" {
  report_tree
  expect 0 "$tree/scripts/report"
  sed -i 's/the clock stops/time flies/' "$tree/tests/mutants/clock_stops.patch"
  expect 1 "$tree/scripts/report" --check
  contains "$output" '+- [clock_stops](../tests/mutants/clock_stops.patch): time flies (`clock_test`)'
  says "report: docs/testing.md is out of date; run 'scripts/report'"
  echo '# breaks: a / caught by: range_test, x' >"$tree/tests/mutants/nameless.patch"
  expect 1 "$tree/scripts/report"
  contains "$stderr" "report: tests/mutants/nameless.patch: its first line does not end in ' / promise: WORD', where WORD is one of: unique "
  rm "$tree/tests/mutants/nameless.patch"
  printf '# breaks: a fork / caught by: range_test, x / promise: unique\n+++ b/lib/host/lock.cpp\n' >"$tree/tests/mutants/fork.patch"
  expect 1 "$tree/scripts/report"
  contains "$stderr" 'report: tests/simulation/caught.tsv does not say who notices fork; run tests/simulation/mutants --record NAME...'
  printf 'fork\toutside: programs that fork\n' >>"$tree/tests/simulation/caught.tsv"
  expect 0 "$tree/scripts/report"
  contains "$(<"$tree/docs/testing.md")" "Of 2 mutants of the protocol's code, they notice 1. \
1 breaks what the protocol itself has no part in: programs that fork (1)."
  sed -i 's/outside: programs that fork/none: long waits/' "$tree/tests/simulation/caught.tsv"
  expect 0 "$tree/scripts/report"
  contains "$(<"$tree/docs/testing.md")" "Of 2 mutants of the protocol's code, they notice 1. 1 they miss: long waits (1)."
  echo 'no XML' >"$BATS_TEST_TMPDIR/run.xml"
  expect 1 "$tree/scripts/report" "$BATS_TEST_TMPDIR/run.xml"
  contains "$stderr" "report: cannot read '$BATS_TEST_TMPDIR/run.xml': "
}
