# docs/testing.md says which tests and mutants each promise has: what it names exists, and nothing is missing.

setup() { source_tree=$BATS_TEST_DIRNAME/../..; }

# without_promise TREE: each of its mutants whose first line does not say what it breaks, what catches it, and a promise of
# promises.txt.
without_promise() {
  cd "$1/tests/mutants"
  local words
  words=$(sed -n 's/^\([a-z-][a-z-]*\) .*/\1/p' promises.txt | paste -sd '|')
  awk -v promise=" / promise: ($words)\$" '
    FNR == 1 && !(/^# breaks: .+ \/ caught by: [a-z_]+, .+ \/ promise: / && $0 ~ promise) { print FILENAME }
    { nextfile }' *.patch
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

# rotten TREE: each of its mutants that does not apply any more.
rotten() {
  cd "$1"
  local patch
  for patch in tests/mutants/*.patch; do
    GIT_CEILING_DIRECTORIES=${PWD%/*} git apply --check "$patch" 2>/dev/null || basename "$patch"
  done
}

@test "every mutant's patch applies" {
  run rotten "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a mutant's patch that does not apply any more is found" {
  mkdir -p "$BATS_TEST_TMPDIR/tests/mutants"
  cd "$BATS_TEST_TMPDIR"
  echo one >word
  printf '%s\n' '--- a/word' '+++ b/word' '@@ -1 +1 @@' -one +two >tests/mutants/applies.patch
  printf '%s\n' '--- a/word' '+++ b/word' '@@ -1 +1 @@' -three +two >tests/mutants/rotten.patch
  run rotten .
  [ "$output" = rotten.patch ]
}

# replaced_functions TREE: each mutant that changes a function of a migration which a later migration replaces, so that no
# test could notice.
replaced_functions() {
  cd "$1"
  awk '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    FILENAME ~ /\.sql$/ {
      if (FNR == 1 || /^\$body\$;/) name = ""
      if (/^CREATE (OR REPLACE )?FUNCTION leaf\./) {
        name = $0
        sub(/^.*FUNCTION leaf\./, "", name)
        sub(/\(.*/, "", name)
        in_force[folder(FILENAME), name] = FILENAME
      }
      function_at[FILENAME, FNR] = name
      text_at[FILENAME, FNR] = $0
      next
    }
    /^\+\+\+ / { file = substr($2, 3); next }
    /^---/ { next }
    /^@@/ { split($2, from, ","); line = -from[1]; next }
    # Its place is what git finds, whatever number the patch has.
    /^[- ]/ {
      for (away = 0; away < 500 && text_at[file, line] != substr($0, 2); away++) line += (away % 2 ? 1 : -1) * (away + 1)
    }
    /^[-+]/ {
      changed = function_at[file, line]
      if (changed != "" && in_force[folder(file), changed] != file) { sub(/.*\//, "", FILENAME); print FILENAME; nextfile }
    }
    !/^\+/ { line++ }' migrations/*/*.sql tests/mutants/*.patch
}

@test "every mutant of a function of the tables changes the one that is in force" {
  run replaced_functions "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a mutant of a function that a later migration replaces is found" {
  mkdir -p "$BATS_TEST_TMPDIR"/{migrations/postgresql,tests/mutants}
  cd "$BATS_TEST_TMPDIR"
  printf '%s\n' 'CREATE FUNCTION leaf.a() RETURNS x AS $body$' one '$body$;' 'UPDATE t' >migrations/postgresql/0001_a.sql
  printf '%s\n' 'CREATE OR REPLACE FUNCTION leaf.a() RETURNS x AS $body$' one '$body$;' >migrations/postgresql/0002_b.sql
  change() { printf '%s\n' "--- a/migrations/postgresql/$1" "+++ b/migrations/postgresql/$1" "@@ -$2 +$2 @@" -one +two; }
  change 0001_a.sql 2 >tests/mutants/replaced.patch
  change 0002_b.sql 2 >tests/mutants/in_force.patch
  change 0001_a.sql 9 >tests/mutants/replaced_from_elsewhere.patch
  printf '%s\n' '--- a/migrations/postgresql/0001_a.sql' '+++ b/migrations/postgresql/0001_a.sql' '@@ -4 +4 @@' \
    '-UPDATE t' '+UPDATE u' >tests/mutants/no_function.patch
  run replaced_functions .
  [ "$output" = replaced.patch$'\n'replaced_from_elsewhere.patch ]
}

@test "docs/testing.md has the promises and mutants of now: otherwise run scripts/report" {
  run "$source_tree/scripts/report" --check
  echo "$output"
  [ "$status" -eq 0 ]
}

# unknown_tests TREE: each test that the page's template names and no CMakeLists.txt adds.
unknown_tests() {
  cd "$1"
  local name file
  for name in $(grep -oE '`[a-z][a-z0-9]*(_[a-z0-9]+)+`' docs/testing.md.in | tr -d '`' | sort -u); do
    case $name in
      cli_*)
        file=${name#cli_}
        grep -qE "^ *leaf_add_cli_test\(${file%_*} ([a-z ]+ )?${file##*_}[ )]" tests/cli/CMakeLists.txt
        ;;
      model_replay_*) [ -e "tests/models/${name#model_replay_}.pml" ] ;;
      model_*)
        [ -e "tests/models/${name#model_}.pml" ] ||
          grep -qE "(leaf_add_(relacy_)?test\(|add_test\(NAME )$name " tests/models/CMakeLists.txt
        ;;
      *) grep -rqE --include=CMakeLists.txt "(leaf_add_test\(|add_test\(NAME )$name( |\$)" tests ;;
    esac || echo "$name"
  done
  for file in $(grep -oE '\]\(\.\./[^)]*\)' docs/testing.md.in | sed 's|](../||; s|)$||'); do
    [ -e "$file" ] || echo "$file"
  done
}

@test "every test and file that docs/testing.md.in names is there" {
  run unknown_tests "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a test or file that is not there is found" {
  mkdir -p "$BATS_TEST_TMPDIR"/{docs,tests/cli,tests/models}
  cd "$BATS_TEST_TMPDIR"
  printf '%s\n' 'leaf_add_cli_test(next sqlite postgresql)' >tests/cli/CMakeLists.txt
  printf '%s\n' 'leaf_add_test(race_test' '  SOURCES a)' 'add_test(NAME storms COMMAND x)' >tests/CMakeLists.txt
  touch tests/models/window.pml tests/models/CMakeLists.txt
  printf '%s\n' '`race_test`, `storm_test`, `cli_next_sqlite`, `cli_next_postgresql`, `cli_next_mysql`, `model_window`,' \
    '`model_door`, [here](../tests/models/window.pml), [there](../man/x.1)' >docs/testing.md.in
  run unknown_tests .
  [ "$output" = 'cli_next_mysql
model_door
storm_test
man/x.1' ]
}
