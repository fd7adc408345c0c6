load support

setup() {
  new_initialized_store
  cd "$BATS_TEST_TMPDIR"
}
teardown() { remove_store; }

# What `mysql -B -e 'SELECT * FROM leaf_alloc'` prints.
leaf_table() {
  printf 'biz_tag\tmax_id\tstep\tdescription\tupdate_time\n'
  printf 'leaf-segment-test\t52001\t2000\tTest leaf Segment Mode Get Id\t2018-02-07 10:41:20\n'
  printf 'order\t1\t100\tNULL\t2018-02-07 10:41:21\n'
}

@test "a Leaf table from MySQL is imported, and the next ID is higher than all that Leaf gave out" {
  expect 0 leafctl tags import - < <(leaf_table)
  prints ''
  says "added tag 'leaf-segment-test': next ID 52001, step 2000
added tag 'order': next ID 1, step 100
2 tags: 2 added"
  # Leaf's last segment was [50001, 52001).
  same 'the next ID' 52001 "$(leafctl next leaf-segment-test)"
  same 'the first ID of a tag that gave out none' 1 "$(leafctl next order)"
  same 'the description' 'Test leaf Segment Mode Get Id' \
    "$(leafctl tags show leaf-segment-test -o json | jq -r .description)"
}

@test "an import done again changes nothing and never lowers a counter" {
  leaf_table >leaf.tsv
  leafctl -q tags import leaf.tsv
  expect 0 leafctl tags import leaf.tsv
  says '2 tags: 2 unchanged'
  leafctl -q next order --direct -n 500 >ids
  expect 0 leafctl tags import leaf.tsv -o json
  same 'what was done' 'leaf-segment-test unchanged 52001 order unchanged 501' \
    "$(jq -r '"\(.tag) \(.action) \(.next_id)"' <<<"$output" | xargs)"
  contains "$stderr" "tag 'order' stays at next ID 501: the file has 1"
  same 'the next ID' 501 "$(leafctl next order --direct)"
}

@test "an existing tag is raised and follows the file, and what the file does not say stays" {
  leafctl -q add-tag order --step 7 --limit 99999 --description mine
  expect 0 leafctl tags import - <<<$'tag,next_id,step\norder,40001,'
  says "raised tag 'order': next ID 40001, step 7, limit 99999
1 tag: 1 raised"
  same 'the description' mine "$(leafctl tags show order -o json | jq -r .description)"
  expect 0 leafctl tags import - <<<$'tag,next_id,step,description\norder,5,8,yours'
  says "changed tag 'order': next ID 40001, step 8, limit 99999
tag 'order' stays at next ID 40001: the file has 5
1 tag: 1 changed"
  same 'the next ID' 40001 "$(leafctl next order)"
}

@test "a tag that is raised leaves what this host had buffered" {
  leafctl -q add-tag order
  same 'the first ID' 1 "$(leafctl next order)"
  leafctl -q tags import - <<<'order,40001,1000'
  same 'the next ID' 40001 "$(leafctl next order)"
}

@test "what this host had buffered below the file's number is left, though the store is ahead of it" {
  leafctl -q add-tag order --step 1000
  same 'the first ID' 1 "$(leafctl next order)"
  echo order,500,1000, >order.csv
  expect 0 leafctl tags import order.csv
  says "tag 'order' stays at next ID 1001: the file has 500
1 tag: 1 unchanged"
  same 'the next ID' 1001 "$(leafctl next order)"
  # What is above it stays.
  expect 0 leafctl tags import order.csv
  same 'the next ID' 1002 "$(leafctl next order)"
}

@test "a tag that another host has removed comes back where the file is, not where this host had buffered" {
  leafctl -q add-tag order --step 1000
  same 'the first ID' 1 "$(leafctl next order)"
  LEAFCTL_RUNTIME_DIR=$LEAFCTL_RUNTIME_DIR-of-another expect 0 leafctl tags remove order --yes
  echo order,5000,1000, >order.csv
  expect 0 leafctl tags import order.csv
  same 'the next ID' 5000 "$(leafctl next order)"
}

@test "a removed tag comes back where it ended, or where the file is if that is further" {
  leafctl -q add-tag a
  leafctl -q add-tag b
  leafctl -q next a --direct -n 700 >ids
  leafctl -q tags remove a --yes
  leafctl -q tags remove b --yes
  leafctl -q tags import - <<<$'a,500,10\nb,500,10'
  same 'the next ID of a' 701 "$(leafctl next a)"
  same 'the next ID of b' 500 "$(leafctl next b)"
}

@test "one bad line and nothing is changed; each is reported with file, line and column" {
  printf 'biz_tag,max_id,step\ngood,5,10\n"a b",5,10\nc,1e5,10\n' >tags.csv
  expect 2 leafctl tags import tags.csv
  prints ''
  says "leafctl: tags.csv:3:1: tag 'a b' has a character that is not allowed
hint: a tag's name has 1 to 128 characters of A-Z a-z 0-9 . _ : -
leafctl: tags.csv:4:3: 'max_id' takes a number from 0 to 9223372036854775807, not '1e5'
leafctl: 'tags.csv' has 2 mistakes, so nothing was changed"
  leafctl -q add-tag order --limit 100
  expect 2 leafctl tags import - <<<$'good,5,10\norder,500,10'
  contains "$stderr" "standard input:2:1: tag 'order' would have next ID 500 and limit 100"
  same 'the tags' order "$(leafctl tags list | cut -f 1)"
}

@test "--dry-run says what would be done and changes nothing" {
  leaf_table >leaf.tsv
  leafctl -q add-tag order
  expect 0 leafctl tags import --dry-run leaf.tsv
  says "would add tag 'leaf-segment-test': next ID 52001, step 2000
would change tag 'order': next ID 1, step 100
2 tags in a dry run: 1 added, 1 changed"
  same 'the tags' $'order\t1\t1000' "$(leafctl tags list | cut -f 1-3)"
}

@test "what is exported is imported, in either format and whatever a description holds" {
  leafctl -q add-tag a --limit 99 --step 7 --description $'it\'s "50 %"; a,b\n\t\\N größe'
  leafctl -q add-tag b --start 9007199254740993
  leafctl -q add-tag c --limit 10
  leafctl -q next c --direct -n 10 >ids 2>warnings
  for format in yaml csv; do
    leafctl tags export --format $format >"tags.$format"
    LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/$format.db
    leafctl -q init-db
    leafctl -q tags import - <"tags.$format"
    new_tags=$(leafctl tags list -o json | jq -c 'del(.updated, .granted)')
    expect 6 leafctl next c
    new_store_url=$LEAFCTL_STORE
    case $TEST_STORE in
      sqlite) LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/leaf.db ;;
      postgresql) LEAFCTL_STORE=postgresql:///$test_database ;;
    esac
    same "the tags by $format" "$(leafctl tags list -o json | jq -c 'del(.updated, .granted)')" "$new_tags"
    same 'another store' sqlite "${new_store_url%%:*}"
    expect 0 leafctl tags import "tags.$format"
    says '3 tags: 3 unchanged'
  done
}

# with_other_store COMMAND...: on a fresh store beside the test's own, of SQLite.
with_other_store() { LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/other.db LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/other.run "$@"; }

# exported FORMAT: all tags, but for when they changed.
exported() {
  case $1 in
    yaml) leafctl tags export | grep -v '^    updated: ' ;;
    csv) leafctl tags export --format csv | sed -E 's/,20[0-9TZ:.-]+,/,,/' ;;
  esac
}

@test "tags come back as they were, used up or not, and go on where they ended" {
  leafctl -q add-tag empty --start 9223372036854775806
  leafctl -q next empty --direct >ids 2>warnings
  leafctl -q add-tag empty-limit --start 9223372036854775806 --limit 9223372036854775806
  leafctl -q next empty-limit --direct >ids 2>warnings
  leafctl -q add-tag full --limit 10
  leafctl -q next full --direct -n 10 >ids 2>warnings
  leafctl -q add-tag last --start 5 --limit 5
  leafctl -q add-tag zero --start 0 --limit 0
  leafctl -q add-tag odd --description $' - "a": \'b\'\r\n# ~ \\N, ö\u0085\u2028\ufeff \e[31m '
  leafctl -q add-tag gone
  leafctl -q tags remove gone --yes
  for format in yaml csv; do
    leafctl tags export --format $format >"tags.$format"
    with_other_store leafctl -q init-db
    with_other_store expect 0 leafctl tags import "tags.$format"
    contains "$stderr" '7 tags: 6 added, 1 noted'
    same "the tags by $format" "$(exported $format)" "$(with_other_store exported $format)"
    for tag in empty empty-limit full; do with_other_store expect 6 leafctl next $tag; done
    same 'the last one' 5 "$(with_other_store leafctl -q next last)"
    with_other_store expect 0 leafctl tags import "tags.$format"
    contains "$stderr" '7 tags: 7 unchanged'
    rm -r other.*
    # And into the store where they are, or were.
    expect 0 leafctl tags import "tags.$format"
    says '7 tags: 7 unchanged'
    before=$(exported $format)
    for tag in empty empty-limit full last zero odd; do leafctl -q tags remove $tag --yes; done
    expect 0 leafctl tags import "tags.$format"
    contains "$stderr" '7 tags: 6 added, 1 unchanged'
    same "the removed tags by $format" "$before" "$(exported $format)"
  done
}

# with_store NAME COMMAND...: on another SQLite store of a host of its own.
with_store() {
  LEAFCTL_STORE=sqlite:$BATS_TEST_TMPDIR/$1.db LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/$1.run "${@:2}"
}

@test "removed tags move with the others: added again in the new store, they repeat no ID of the old one" {
  leafctl -q add-tag live
  leafctl -q add-tag gone --step 7
  leafctl -q next gone --direct -n 700 >ids
  leafctl -q tags remove gone --yes
  for format in yaml csv; do
    leafctl tags export --format $format >"tags.$format"
    with_store $format leafctl -q init-db
    with_store $format expect 0 leafctl tags import "tags.$format"
    says "noted removed tag 'gone': if it is added again, its next ID is 701
added tag 'live': next ID 1, step 1000
2 tags: 1 added, 1 noted"
    same 'the tags' live "$(with_store $format leafctl tags list | cut -f 1)"
    expect 4 with_store $format leafctl next gone
    # What is exported from there tells the same.
    same 'the tags once more' "$(exported $format)" "$(with_store $format exported $format)"
    same 'the log' $'add gone\nremove gone' \
      "$(with_store $format leafctl log gone -o json | jq -r '"\(.event) \(.tag)"')"
    with_store $format leafctl -q add-tag gone
    same 'the next ID' 701 "$(with_store $format leafctl next gone)"
  done
}

# A store on which a removed tag ended at 500.
with_removed_tag() {
  leafctl -q add-tag gone --start 500
  leafctl -q tags remove gone --yes
}

@test "an import raises a removed tag, never lowers it, and done again changes nothing" {
  with_removed_tag
  expect 0 leafctl tags import - <<<$'tag,next_id,removed\ngone,400,true'
  says "removed tag 'gone' stays at next ID 500: the file has 400
1 tag: 1 unchanged"
  expect 0 leafctl tags import --dry-run - <<<$'tag,next_id,removed\ngone,600,true\nnew,5,true'
  says "would raise removed tag 'gone': if it is added again, its next ID is 600
would note removed tag 'new': if it is added again, its next ID is 5
2 tags in a dry run: 1 noted, 1 raised"
  expect 0 leafctl tags import - <<<$'tag,next_id,removed\ngone,600,true'
  says "raised removed tag 'gone': if it is added again, its next ID is 600
1 tag: 1 raised"
  expect 0 leafctl tags import - -o json <<<$'tag,next_id,removed\ngone,600,true\nb,7,false\nc,9,'
  same 'what was done' 'gone unchanged 600 removed null b added 7 live 1000 c added 9 live 1000' \
    "$(jq -r '"\(.tag) \(.action) \(.next_id) \(.state) \(.step)"' <<<"$output" | xargs)"
  leafctl -q add-tag gone
  same 'the next ID' 600 "$(leafctl next gone)"
  expect 2 leafctl tags import - <<<$'tag,next_id,removed\nb,7,yes'
  says "leafctl: standard input:2:5: 'removed' takes true or false, not 'yes'"
}

# import_raises_order WHERE CSV: the file has a tag that is behind it.
import_raises_order() {
  leafctl -q add-tag order
  same 'an ID' 1 "$(leafctl next order)"
  expect 0 leafctl tags import - <<<"$2"
  says "raised tag 'order': $1, step 1000
1 tag: 1 raised"
}

@test "a tag that a file calls removed stays where it lives, and goes on above the file" {
  import_raises_order 'next ID 40001' $'tag,next_id,removed\norder,40001,true'
  same 'the next ID' 40001 "$(leafctl next order)"
  leafctl -q add-tag full --limit 10
  expect 2 leafctl tags import - <<<$'tag,next_id,removed\nnew,5,\nfull,500,true'
  says "leafctl: standard input:3:1: tag 'full' would have next ID 500 and limit 10
hint: raise its limit to 499 or more with 'leafctl tags update full --limit 499'"
  same 'the tags' 'full order' "$(leafctl tags list | cut -f 1 | xargs)"
  leafctl -q tags update full --limit 499
  expect 0 leafctl tags import - <<<$'tag,next_id,removed\nnew,5,\nfull,500,true'
  expect 6 leafctl next full
}

@test "export takes removed tags by the pattern too, and only import sees them" {
  with_removed_tag
  leafctl -q add-tag order
  expect 0 leafctl tags export 'g*'
  same 'in YAML' 'tags: - tag: gone next_id: 500 step: 1000 removed: true' "$(grep -v updated: <<<"$output" | xargs)"
  says ''
  expect 0 leafctl tags export 'o*'
  [[ $output != *gone* && $output != *removed* ]]
}

@test "a tag that is behind one that is used up is raised to its end" {
  import_raises_order 'no ID left' $'tag,next_id\norder,9223372036854775807'
  expect 6 leafctl next order
  expect 2 leafctl tags import - <<<$'tag,next_id\norder,9223372036854775808'
  contains "$stderr" "'next_id' takes a number from 0 to 9223372036854775807, not '9223372036854775808'"
}

@test "export warns of a tag that no import takes, and prints it" {
  case $TEST_STORE in
    sqlite) ask() { sqlite3 "$BATS_TEST_TMPDIR/leaf.db" "$1"; } ;;
    postgresql) ask() { psql -qX "$test_database" -c "$1"; } ;;
  esac
  leafctl -q add-tag good
  ask "INSERT INTO leaf_alloc (biz_tag, max_id, step, incarnation)
    VALUES ('a, b', 7, 10, '11111111-1111-4111-8111-111111111111'), ('big', 8, 2000000, '22222222-2222-4222-8222-222222222222')"
  for format in yaml csv; do
    expect 0 leafctl tags export --format $format
    contains "$output" 'a, b'
    contains "$output" 2000000
    says "leafctl: warning: tag 'a, b' has a character that is not allowed: it cannot be imported
hint: rename it in the file
leafctl: warning: tag 'big' has step 2000000, more than 1000000: it cannot be imported
hint: lower its step in the file"
    sed 's/a, b/ab/; s/2000000/1000000/' <<<"$output" >"file.$format"
    expect 0 leafctl --store "sqlite:$BATS_TEST_TMPDIR/$format.db" init-db
    expect 0 leafctl --store "sqlite:$BATS_TEST_TMPDIR/$format.db" tags import "file.$format"
    same 'the tags' 'ab big good' "$(leafctl --store "sqlite:$BATS_TEST_TMPDIR/$format.db" tags list | cut -f 1 | xargs)"
  done
}

@test "export refuses to write as YAML what would not be read as it was" {
  leafctl -q add-tag odd --description $'\e\xef\xbf\xbf'
  expect 1 leafctl tags export
  prints ''
  says "leafctl: tag 'odd' has a character that YAML does not keep
hint: write them as CSV, with '--format csv'"
  leafctl tags export --format csv >odd.csv
  expect 0 leafctl --store "sqlite:$BATS_TEST_TMPDIR/other.db" init-db
  expect 0 leafctl --store "sqlite:$BATS_TEST_TMPDIR/other.db" tags import odd.csv
  same 'the description' "$(leafctl -o json tags show odd | jq .description)" \
    "$(leafctl --store "sqlite:$BATS_TEST_TMPDIR/other.db" -o json tags show odd | jq .description)"
}

@test "export takes a pattern, and prints what other programs read" {
  for tag in order-a order-b user; do leafctl -q add-tag "$tag" --description "$tag, sold"; done
  expect 0 leafctl tags export 'order*' --format csv
  same 'without times' $'tag,next_id,step,limit,,description,removed\norder-a,1,1000,,,"order-a, sold",\norder-b,1,1000,,,"order-b, sold",' \
    "$(sed -E 's/,(updated|20[^,]*Z),/,,/' <<<"$output")"
  expect 0 leafctl tags export 'x*'
  prints 'tags: []'
  says "no tag matches 'x*'"
  expect 2 leafctl tags export --format xml
  says "leafctl: '--format' takes yaml or csv, not 'xml'"
}

@test "a table that MySQL drew for people is refused with what parts fields" {
  printf '+---------+--------+\n| biz_tag | max_id |\n' >drawn.txt
  expect 2 leafctl tags import drawn.txt
  says "leafctl: drawn.txt:1:1: expected 3 to 5 fields, found 1 (the file has no header line)
hint: separate the fields with commas or tabs, as 'mysql -B' does"
}

@test "a file that cannot be read is an error" {
  expect 2 leafctl tags import missing.csv
  says "leafctl: cannot read 'missing.csv': No such file or directory"
  expect 2 leafctl tags import .
  says "leafctl: cannot read '.': Is a directory"
  expect 2 leafctl tags import
  contains "$stderr" "argument 'FILE' is missing"
}

@test "an empty file is no import, as where the command before it in a pipe has failed" {
  for text in '' $' \n\n'; do
    expect 2 leafctl tags import - < <(printf %s "$text")
    says "leafctl: standard input is empty
hint: check whether the program that writes it has failed"
  done
  expect 0 leafctl tags import - < <(leafctl tags export)
}

@test "an import goes on where a removed tag ended, and is refused as a whole where its limit is below that" {
  leafctl -q add-tag order
  leafctl -q next order -n 41 --direct >ids
  leafctl -q tags remove order --yes
  printf 'biz_tag,max_id,step,limit\nnew,5,10,100\norder,5,10,7\n' >tags.csv
  expect 2 leafctl tags import tags.csv
  says "leafctl: tags.csv:3:1: tag 'order' was removed, and its IDs up to 41 are used up
hint: name a limit of 42 or more in the file"
  same 'the tags' '' "$(leafctl tags list)"
  sed -i 's/,7$/,90/' tags.csv
  expect 0 leafctl tags import --dry-run tags.csv
  contains "$stderr" "would add tag 'order': next ID 42, step 10, limit 90"
  expect 0 leafctl tags import tags.csv
  contains "$stderr" "tag 'order' stays at next ID 42: the file has 5"
  same 'the next ID' 42 "$(leafctl next order)"
}

@test "an import without an end is refused, in bounded memory" {
  runs_within 2000000
  expect 2 bash -c 'ulimit -v 2000000 && leafctl tags import /dev/zero'
  says "leafctl: '/dev/zero' is larger than 256 MiB
hint: import it in parts"
}
