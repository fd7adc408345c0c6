# docs/testing.md says which tests and mutants each promise has: what it names exists, and nothing is missing.

setup() { source_tree=$BATS_TEST_DIRNAME/../..; }

# without_promise TREE: each of its mutants whose first line does not say what it breaks, what catches it, and a promise of
# promises.txt.
without_promise() {
  cd "$1/tests/mutants"
  local words
  words=$(sed -n 's/^\([a-z-][a-z-]*\) .*/\1/p' promises.txt | paste -sd '|')
  local patch
  for patch in *.patch; do
    head -n 1 "$patch" | grep -qE "^# breaks: .+ / caught by: [a-z_]+, .+ / promise: ($words)\$" || echo "$patch"
  done
}

@test "every mutant says which promise it breaks" {
  run without_promise "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a mutant without a promise, or with one that nobody knows, is found" {
  mutants=$BATS_TEST_TMPDIR/tests/mutants
  mkdir -p "$mutants"
  printf '# words\n\nunique   no ID twice\nfail-stop   none\n' >"$mutants/promises.txt"
  echo '# breaks: a / caught by: range_test, range: x, y* / promise: fail-stop' >"$mutants/a.patch"
  echo '# breaks: a / caught by: range_test, range: x*' >"$mutants/b.patch"
  echo '# breaks: a / caught by: range_test, range: x* / promise: fail' >"$mutants/c.patch"
  run without_promise "$BATS_TEST_TMPDIR"
  [ "$output" = 'b.patch
c.patch' ]
}
