# leafctl audit, as its users call it. Its parts are tested in tests/cmd/audit.
load support
load audit_support

setup() {
  new_store
  cd "$BATS_TEST_TMPDIR"
}
teardown() { remove_store; }

# snowflakes COUNT: IDs of layout leaf, two workers in turn, one a second, up to 2026-11-20.
snowflakes() {
  local first
  first=$(leafctl encode --layout leaf --time 2026-11-20T00:00:00Z --worker 3 --sequence 0)
  for ((ago = $1; ago > 0; --ago)); do echo "$((first - (ago * 1000 << 22) + (ago % 2 << 12)))"; done
}

@test "audit: IDs without a fault are reported as ok, with status 0" {
  snowflakes 300 >ids
  expect 0 leafctl audit <ids
  says ''
  same ids ok "$(found ids)"
  same count 300 "$(measure ids count)"
  same repeats ok "$(found repeats)"
  same layout leaf "$(found layout 4)"
  same workers 2 "$(measure workers count)"
  same clocks ok "$(found clocks)"
  same unit 1 "$(measure peak count)"
  same plot '' "$(grep -a '#' <<<"$output" || true)"
}

@test "audit: repeats are found in any order, and the exit status is 1" {
  snowflakes 300 >ids
  head -n 2 ids >more
  { shuf --random-source=ids ids; cat more more; } >all
  expect 1 leafctl audit <all
  same repeats failed "$(found repeats)"
  same repeated 2 "$(measure repeats repeated)"
  same rows 4 "$(measure repeats repeats)"
  same id "$(sort -n more | head -n 1)" "$(found repeat 4)"
  same times 3 "$(measure repeat times)"
  says 'leafctl: repeats: 2 IDs occur more than once, 4 rows too many'
  same shared failed "$(found shared_workers)"
  expect 0 leafctl audit --fail-on none <all
  expect 1 leafctl audit --fail-on clocks,repeats <all
  expect 0 leafctl audit --fail-on outside <all
  expect 1 leafctl audit --examples 0 <all
  same examples '' "$(found repeat)"
}

@test "audit: the verdict is the one of sort and uniq, however little memory there is" {
  seq 1000000000000000000 7777777 1000007777777000000 >ids
  sed -n '5p;77777p;99000p' ids >more
  cat ids more | shuf --random-source=ids >all
  wanted=$(sort -n all | uniq -d | wc -l)
  export TMPDIR=$BATS_TEST_TMPDIR/temporary
  mkdir "$TMPDIR"
  for memory in 4M 512M; do
    expect 1 leafctl audit --layout dense --memory $memory <all
    same repeated "$wanted" "$(measure repeats repeated)"
    same distinct "$(sort -u all | wc -l)" "$(measure ids distinct)"
    same examples "$(sort -n more)" "$(awk -F '\t' '$1 == "repeat" { print $4 }' <<<"$output")"
  done
  same 'files that are left' '' "$(ls -A "$TMPDIR")"
}

@test "audit: what is sorted needs no temporary file, what is not says where it was to lie" {
  seq 1000000000000000000 7777777 1000007777777000000 >ids
  TMPDIR=$PWD/nowhere expect 0 leafctl audit --layout dense --memory 4M <ids
  tac ids >falling
  TMPDIR=$PWD/nowhere expect 1 leafctl audit --layout dense --memory 4M <falling
  same error "leafctl: cannot make a temporary file in '$PWD/nowhere': No such file or directory" "${stderr_lines[0]}"
  same hint "hint: name a folder with more room in TMPDIR, or allow more memory with '--memory'" "${stderr_lines[1]}"
  mkdir nowhere
  TMPDIR=$PWD/nowhere expect 0 leafctl audit --layout dense --memory 4M <falling
  TMPDIR=$PWD/none expect 0 leafctl audit --layout dense --memory 512M <falling
  expect 1 sh -c 'ulimit -f 8; TMPDIR=$PWD/nowhere leafctl audit --layout dense --memory 4M <falling 2>&1 | cat >&2; exit 1'
  contains "$stderr" "cannot write a temporary file in '$PWD/nowhere': File too large"
}

@test "audit: dense IDs: gaps, and when they run out" {
  { seq 1 1000; seq 1011 1020; seq 1050 2000; } >ids
  expect 0 leafctl audit <ids
  same layout dense "$(found layout 4)"
  same missing 39 "$(measure gaps missing)"
  same gaps 2 "$(measure gaps count)"
  same largest 1021-1049 "$(found gap 4)"
  same int int "$(found runs_out 4)"
  same left 2147481647 "$(measure runs_out left)"
  expect 0 leafctl audit --since now-10d <ids
  contains "$(found runs_out 3)" 'at 200 a day'
  expect 1 leafctl audit --since now-10d --fail-on runs_out < <(seq 2147483000 2147483600)
  contains "$(found runs_out 3)" '47 left'
  expect 2 leafctl audit --since 2026-01-01 --layout leaf <ids
  says "leafctl: '--since' is for dense IDs: snowflake IDs tell their times"
}

@test "audit: lines that are no ID are told by number, at most ten of them, and the exit status is 1" {
  expect 1 leafctl audit < <(printf '1\r\nx\n2\r\n\n-3\n'; yes y | head -n 20)
  same invalid 23 "$(measure ids invalid)"
  same count 2 "$(measure ids count)"
  same first "leafctl: line 2: 'x' is not an ID" "${stderr_lines[0]}"
  same second "leafctl: line 4: '' is not an ID: it is empty" "${stderr_lines[1]}"
  same lines 12 "${#stderr_lines[@]}"
  same more 'leafctl: and 13 more' "${stderr_lines[10]}"
  same last 'leafctl: 23 lines held no ID' "${stderr_lines[11]}"
}

@test "audit: a file is read as standard input is" {
  printf '7\n8\n7\n' >"$BATS_TEST_TMPDIR/ids"
  expect 1 leafctl audit "$BATS_TEST_TMPDIR/ids"
  local of_the_file=$output
  same count 3 "$(measure ids count)"
  expect 1 leafctl audit - <"$BATS_TEST_TMPDIR/ids"
  prints "$of_the_file"
  expect 2 leafctl audit "$BATS_TEST_TMPDIR/none"
  says "leafctl: cannot read '$BATS_TEST_TMPDIR/none': No such file or directory"
  expect 2 leafctl audit "$BATS_TEST_TMPDIR"
  says "leafctl: cannot read '$BATS_TEST_TMPDIR': Is a directory"
  expect 2 leafctl audit "$BATS_TEST_TMPDIR/ids" --sql 'SELECT 1'
  says "leafctl: IDs come from a file or from '--sql', not from both"
}

@test "audit: nothing gives nothing, with status 0" {
  expect 0 leafctl audit </dev/null
  prints $'ids\tunknown\tnone\t\tcount=0,distinct=0,invalid=0'
}

@test "audit: columns and forms, as decode has them" {
  expect 1 leafctl audit --column id < <(printf 'name,id\n"a, b",7\nc,8\nd,7\n')
  same repeat 7 "$(found repeat 4)"
  expect 0 leafctl audit --column 2 --header --separator '|' < <(printf 'name|id\na|7\nb|8')
  same count 2 "$(measure ids count)"
  expect 1 leafctl audit --format hex < <(printf '000000000000000a\n000000000000000b\n000000000000000A\n')
  same repeat 10 "$(found repeat 4)"
  # One that was cut counts as none, and not as another; all of them may be padded.
  expect 1 leafctl audit < <(printf '7\n07\n007\n')
  same count 1 "$(measure ids count)"
  same invalid 2 "$(measure ids invalid)"
  expect 0 leafctl audit --template '{id:>03}' < <(printf '006\n007\n')
  expect 0 leafctl audit --template 'O-{id:>04}' < <(printf 'O-0001\nO-0002\n')
  expect 2 leafctl audit --template 'O-{date}-{id}' <<<O-20200502-1256557484213448722
  same hint "hint: name the layout of the IDs with '--layout'" "${stderr_lines[1]}"
  expect 0 leafctl audit --layout leaf --template 'O-{date}-{id}' <<<O-20200502-1256557484213448722
  same worker 619 "$(found worker 4)"
  expect 2 leafctl audit --header </dev/null
}

@test "audit: JSON is an object a line, its measures numbers" {
  expect 1 leafctl audit -o json < <(snowflakes 20; snowflakes 20 | tail -n 1)
  same keys '["finding","state","detail","subject","measures"]' "$(jq -c 'keys_unsorted' <<<"$output" | sort -u)"
  same repeats 1 "$(jq 'select(.finding == "repeats").measures.repeats' <<<"$output")"
  same id "$(snowflakes 1)" "$(jq -r 'select(.finding == "repeat").subject' <<<"$output")"
  expect 2 leafctl audit -o json --plot always </dev/null
}

@test "audit: the rate is drawn on a terminal as wide as that is, and in a pipe only where asked for" {
  snowflakes 300 >ids
  LC_ALL=C.UTF-8 on_terminal 'stty cols 60; leafctl audit --color never <ids'
  contains "$output" '█'
  contains "$output" 'a column, at most'
  LC_ALL=C on_terminal 'stty cols 60; leafctl audit --color never <ids'
  lacks "$output" '█'
  contains "$output" '###'
  while read -r line; do [ "${#line}" -le 60 ]; done < <(grep '##' <<<"$output")
  LC_ALL=C on_terminal 'leafctl audit --plot never <ids'
  lacks "$output" 'a column, at most'
  LC_ALL=C expect 0 leafctl audit --plot always <ids
  contains "$output" 'a column, at most'
  expect 2 leafctl audit --plot maybe </dev/null
}

@test "audit: options that do not fit are usage errors" {
  expect 2 leafctl audit --memory 4095K </dev/null
  says "leafctl: '--memory' takes a size from 4M to 16T, not '4095K'"
  expect 2 leafctl audit --fail-on repeat </dev/null
  contains "$stderr" "'--fail-on' takes none or some of repeats,"
  expect 2 leafctl audit --dsn service=x </dev/null
  says "leafctl: '--dsn' requires '--sql'"
  expect 2 leafctl audit --sql 'SELECT 1' --column 1
  expect 2 leafctl audit --sql 'SELECT 1' --dsn sqlite:x.db
  says "leafctl: queries are for PostgreSQL, and 'sqlite:' names another database"
  expect 2 leafctl audit --layout leef </dev/null
}

@test "audit: it loads no library of a database unless it is asked to" {
  strace -qq -o /dev/null true 2>/dev/null || skip 'needs strace'
  run -0 strace -f -e trace=openat -o trace leafctl audit </dev/null
  lacks "$(cat trace)" libpq
}
