load support

setup() { new_initialized_store; }
teardown() { remove_store; }

record() { leafctl tags show "$1" -o json | jq -c 'del(.updated, .granted)'; }

@test "add-tag takes its defaults and says what it made" {
  expect 0 leafctl add-tag order
  prints ''
  says "added tag 'order': first ID 1, step 1000"
  same 'the tag' '{"tag":"order","next_id":"1","step":1000,"limit":null,"description":""}' "$(record order)"
}

@test "add-tag keeps what it is told, whatever the description holds" {
  expect 0 leafctl add-tag order --step 5 --start 9007199254740993 --limit 9223372036854775806 \
    --description $'it\'s "50 %";\t$(x) größe' -o json
  same 'the description' $'it\'s "50 %";\t$(x) größe' "$(jq -r .description <<<"$output")"
  same 'the IDs' '9007199254740993 9223372036854775806' "$(jq -r '.next_id + " " + .limit' <<<"$output")"
  expect 0 leafctl add-tag empty --description ''
  expect 2 leafctl add-tag bytes --description $'gr\xf6\xdfe'
  says 'leafctl: the description is not in UTF-8'
  expect 2 leafctl tags update empty --description $'\xff'
  expect 0 leafctl add-tag braces --description '{}'
  same 'the description' '{}' "$(leafctl tags show braces -o json | jq -r .description)"
}

@test "add-tag again with the same values is no error, with others it shows both" {
  leafctl -q add-tag order --step 50 --start 10
  expect 0 leafctl add-tag order --step 50 --start 10
  says "tag 'order' already exists: next ID 10, step 50"
  expect 0 leafctl add-tag order
  expect 1 leafctl add-tag order --step 60
  contains "$stderr" "leafctl: tag 'order' exists with step 50, not 60"
  expect 1 leafctl add-tag order --start 20
  contains "$stderr" "tag 'order' exists with start 10, not 20"
  expect 1 leafctl add-tag order --limit 99
  contains "$stderr" "limit none, not 99"
}

@test "add-tag refuses a start below what was given out" {
  leafctl -q add-tag order
  leafctl -q next order -n 100 --direct >"$BATS_TEST_TMPDIR/ids"
  expect 1 leafctl add-tag order --start 50
  contains "$stderr" "are granted up to 100"
  leafctl -q tags remove order --yes
  expect 1 leafctl add-tag order --start 50
  contains "$stderr" "its IDs up to 100 are used up"
}

@test "add-tag refuses a limit below its start" {
  expect 2 leafctl add-tag order --start 10 --limit 9
  says 'leafctl: limit 9 is below the first ID, 10'
  expect 2 leafctl add-tag order --limit 0
  contains "$stderr" "leafctl: '--limit' takes a number from 1 to 9223372036854775806, not '0'"
  expect 0 leafctl add-tag zero --start 0 --limit 0
  same 'the only ID' 0 "$(leafctl next zero)"
  expect 0 leafctl add-tag order --start 10 --limit 10
  same 'the only ID' 10 "$(leafctl next order)"
}

@test "a removed tag that is added again goes on where it ended" {
  leafctl -q add-tag order
  leafctl -q next order -n 41 --direct >"$BATS_TEST_TMPDIR/ids"
  expect 0 leafctl tags remove order --yes
  says "removed tag 'order'"
  expect 4 leafctl next order
  expect 0 leafctl add-tag order
  same 'the next ID' 42 "$(leafctl next order)"
}

@test "a removed tag gives no ID any more, not even the last there is" {
  leafctl -q add-tag order --start 9223372036854775805
  same 'an ID' 9223372036854775805 "$(leafctl next order)"
  leafctl -q tags remove order --yes
  expect 4 leafctl next order
  prints ''
  leafctl -q add-tag last --start 9223372036854775806
  same 'an ID' 9223372036854775806 "$(leafctl next last)"
  leafctl -q tags remove last --yes
  expect 1 leafctl add-tag last --limit 1000
  says "leafctl: tag 'last' was removed, and its IDs up to 9223372036854775806 are used up
hint: go on with another tag: no ID is greater"
  expect 0 leafctl add-tag last
  says "added tag 'last': no ID left, step 1000"
  expect 0 leafctl add-tag last
  says "tag 'last' already exists: no ID left, step 1000"
  leafctl -q tags remove last --yes
  printf 'tags:\n  - {tag: last, next_id: 5, limit: 1000}\n  - {tag: other, next_id: 5}\n' >tags.yaml
  expect 2 leafctl tags import tags.yaml
  contains "$stderr" 'hint: leave it out of the file: its last ID was given out'
  sed -i /last/d tags.yaml
  expect 0 leafctl tags import tags.yaml
}

@test "adding a removed tag below where it ended says which start and which limit are possible" {
  leafctl -q add-tag order
  leafctl -q next order -n 41 --direct >"$BATS_TEST_TMPDIR/ids"
  leafctl -q tags remove order --yes
  expect 1 leafctl add-tag order --start 5
  says "leafctl: tag 'order' was removed, and its IDs up to 41 are used up
hint: leave the start out to go on with 42, or choose a higher one"
  expect 1 leafctl add-tag order --limit 7
  says "leafctl: tag 'order' was removed, and its IDs up to 41 are used up
hint: choose a limit of 42 or more"
  expect 0 leafctl add-tag order --limit 42
  same 'the next ID' 42 "$(leafctl next order)"
}

@test "tags list prints one tab-separated line for each tag, by name" {
  leafctl -q add-tag b --limit 99 --description $'two\tparts\nand a \\'
  leafctl -q add-tag a
  expect 0 leafctl tags list
  same 'without times' $'a\t1\t1000\t\t\nb\t1\t1000\t99\ttwo\\tparts\\nand a \\\\' "$(cut -f 1-4,7 <<<"$output")"
  [[ $(cut -f 5 <<<"$output" | head -n 1) =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z$ ]]
  same 'show is like list' "$(head -n 1 <<<"$output")" "$(leafctl tags show a)"
}

@test "tags list -o json prints one object a line with the keys of the contract" {
  leafctl -q add-tag a
  leafctl -q add-tag b
  expect 0 leafctl tags list -o json
  same 'the tags' 'a b' "$(jq -r .tag <<<"$output" | xargs)"
  same 'the keys' 'tag next_id step limit updated granted description' \
    "$(jq -r 'keys_unsorted | join(" ")' <<<"$output" | sort -u)"
}

@test "tags list takes a pattern, and the tags stay sorted" {
  for tag in order-b user order-a reorder; do leafctl -q add-tag "$tag"; done
  same 'a prefix' 'order-a order-b' "$(leafctl tags list 'order*' | cut -f 1 | xargs)"
  same 'one character' 'user' "$(leafctl tags list 'use?' | cut -f 1)"
  same 'a set' 'order-a' "$(leafctl tags list '*-[a]' | cut -f 1)"
  same 'a whole name' '' "$(leafctl -q tags list orde)"
  expect 0 leafctl tags list 'x*'
  says "no tag matches 'x*'"
}

@test "tags list tells times from now and groups digits on a terminal only" {
  leafctl -q add-tag order --step 100000
  on_terminal 'leafctl --color never tags list'
  [[ $(sed -n 2p <<<"$output") =~ ^order\ +1\ +100,000\ +-\ +([0-9]+m?s\ ago|now)\ +-$ ]]
  same 'in a pipe' 100000 "$(leafctl tags list | cut -f 3)"
  same 'in JSON' 100000 "$(leafctl tags list -o json | jq .step)"
}

@test "tags remove -o json prints what was done" {
  leafctl -q add-tag order
  expect 0 leafctl tags remove order --yes -o json
  prints '{"tag":"order","action":"removed"}'
}

@test "tags list of no tags prints nothing and says how to add one" {
  expect 0 leafctl tags list
  prints ''
  says "no tags yet: add one with 'leafctl add-tag TAG'"
}

@test "tags update changes what is named and nothing else" {
  leafctl -q add-tag order --description first --limit 1000
  expect 0 leafctl tags update order --step 7
  says "updated tag 'order': next ID 1, step 7, limit 1000"
  leafctl -q tags update order --limit 2000 --description second
  leafctl -q tags update order --raise-to 500
  same 'the tag' '{"tag":"order","next_id":"500","step":7,"limit":"2000","description":"second"}' "$(record order)"
  leafctl -q tags update order --raise-to 100
  leafctl -q tags update order --limit none
  same 'the tag' '{"tag":"order","next_id":"500","step":7,"limit":null,"description":"second"}' "$(record order)"
}

@test "tags update refuses a limit below what was given out, and no change at all" {
  leafctl -q add-tag order
  leafctl -q next order -n 100 --direct >"$BATS_TEST_TMPDIR/ids"
  expect 2 leafctl tags update order --limit 50
  contains "$stderr" "are granted up to 100"
  expect 2 leafctl tags update order
  contains "$stderr" "nothing to change"
  expect 2 leafctl tags update order --limit many
  contains "$stderr" "for no limit, write '--limit none'"
}

@test "commands on a tag that does not exist exit with 4" {
  for command in 'next x' 'tags show x' 'tags update x --step 5' 'tags remove x --yes'; do
    expect 4 leafctl $command
    prints ''
    contains "$stderr" "leafctl: tag 'x' does not exist"
    if [ "$command" = 'next x' ]; then
      contains "$stderr" "hint: create it with 'leafctl add-tag x'"
    else
      contains "$stderr" "hint: see which there are with 'leafctl tags list'"
    fi
  done
}

@test "a mistyped tag is told the one that was meant, before a new one is proposed" {
  leafctl -q add-tag order
  leafctl -q add-tag invoice
  for command in 'next ordr' 'next odrer -n 5' 'next ordr --direct' 'next ordr --no-host-buffer' \
    'bench segment --tag ordr -n 5'; do
    expect 4 leafctl $command
    prints ''
    contains "$stderr" "hint: did you mean 'order'? otherwise create it with 'leafctl add-tag o"
  done
  for command in 'tags show ordr' 'tags update ordr --step 5' 'tags remove ordr --yes'; do
    expect 4 leafctl $command
    says "leafctl: tag 'ordr' does not exist
hint: did you mean 'order'?"
  done
  expect 0 leafctl tags list ordr
  says "no tag matches 'ordr': did you mean 'order'?"
  for command in 'next ordr -q' 'next ordr -o json' 'next payments' 'tags show ordr -o json'; do
    expect 4 leafctl $command
    contains "$stderr" "hint: create it with 'leafctl add-tag "
  done
}

@test "no name that a command would refuse is proposed for a mistyped tag" {
  local columns='biz_tag, max_id, step, incarnation'
  case $TEST_STORE in
    sqlite) sqlite3 "${LEAFCTL_STORE#sqlite:}" "INSERT INTO leaf_alloc ($columns) VALUES ('order' || char(27), 1, 10, 'x')" ;;
    postgresql) psql -Xqd "$test_database" -c \
      "INSERT INTO leaf_alloc ($columns) VALUES ('order' || chr(27), 1, 10, gen_random_uuid())" ;;
  esac
  expect 4 leafctl next order
  says "leafctl: tag 'order' does not exist
hint: create it with 'leafctl add-tag order'"
}

@test "a hint on a tag that begins with a dash can be run as it is" {
  expect 4 leafctl next -- --odd
  contains "$stderr" "hint: create it with 'leafctl add-tag -- --odd'"
  leafctl -q add-tag --limit 1 -- --odd
  expect 0 leafctl next -- --odd
  contains "$stderr" "hint: raise it with 'leafctl tags update --limit ID -- --odd'"
  expect 6 leafctl next -- --odd
  contains "$stderr" "hint: raise it with 'leafctl tags update --limit ID -- --odd'"
  expect 0 leafctl tags update --limit 5 -- --odd
}

@test "tags remove wants --yes where it cannot ask" {
  leafctl -q add-tag order
  expect 2 leafctl tags remove order </dev/null
  says "leafctl: removing tag 'order' needs confirmation
hint: add '--yes' to do it without being asked"
  expect 0 leafctl tags show order
}

@test "tags remove asks on a terminal and takes only yes for yes" {
  leafctl -q add-tag order
  for answer in n '' yess $'\004'; do
    on_terminal 'leafctl tags remove order' "$answer"$'\n'
    same 'the status' 1 "$status"
    contains "$output" "remove tag 'order' (next ID 1, step 1000)? [y/N]"
    contains "$output" "tag 'order' was not removed"
  done
  on_terminal 'leafctl tags remove order' $'y\n'
  same 'the status' 0 "$status"
  expect 4 leafctl tags show order
}
