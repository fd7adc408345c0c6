load support

setup() { new_initialized_store; }
teardown() { remove_store; }

@test "next prints the first ID of a tag, then the next one" {
  leafctl -q add-tag order
  leafctl -q add-tag invoice --start 1000000
  same 'the first' 1 "$(leafctl next order)"
  same 'the second' 2 "$(leafctl next order)"
  same 'the first' 1000000 "$(leafctl next invoice)"
}

@test "next -n prints increasing IDs, one a line, and --direct ones without gaps" {
  leafctl -q add-tag order --start 99990
  leafctl next order -n 25000 --direct >"$BATS_TEST_TMPDIR/ids"
  seq 99990 124989 | cmp - "$BATS_TEST_TMPDIR/ids"
  leafctl next order -n 5 >"$BATS_TEST_TMPDIR/ids"
  sort -n -u -C "$BATS_TEST_TMPDIR/ids"
}

@test "next --ranges prints both ends of the run" {
  leafctl -q add-tag order
  expect 0 leafctl next order -n 1000 --ranges --direct
  prints $'1\t1000'
  expect 0 leafctl next order --ranges --direct
  prints $'1001\t1001'
  expect 0 leafctl next order -n 2 --ranges -o json --direct
  prints '{"tag":"order","first":"1002","last":"1003"}'
}

@test "next -o json prints one object for each ID, which is a string" {
  leafctl -q add-tag order --start 9007199254740993
  expect 0 leafctl next order -n 2 -o json
  prints '{"tag":"order","id":"9007199254740993"}
{"tag":"order","id":"9007199254740994"}'
}

@test "next prints nothing where the limit lies within the batch" {
  leafctl -q add-tag order --limit 10
  expect 0 leafctl -q next order -n 8 --direct
  expect 6 leafctl next order -n 3
  prints ''
  contains "$stderr" 'IDs left (limit 10)'
  same 'the last ones' '9 10' "$(leafctl -q next order -n 2 | xargs)"
  expect 6 leafctl next order
  contains "$stderr" "hint: raise it with 'leafctl tags update order --limit ID'"
  leafctl -q tags update order --limit 11
  same 'one more' 11 "$(leafctl -q next order)"
}

@test "next counts what is left in the store and in this host's buffer" {
  leafctl -q add-tag l2 --limit 10
  expect 6 leafctl next l2 -n 11
  prints ''
  says "leafctl: tag 'l2' has only 10 IDs left (limit 10)
hint: raise it with 'leafctl tags update l2 --limit ID'"
  expect 0 leafctl next l2 -n 9 --ranges
  prints $'1\t9'
  says "leafctl: warning: tag 'l2' has only 1 ID left (limit 10)
hint: raise it with 'leafctl tags update l2 --limit ID'"
  contains "$(leafctl doctor | grep '^tags.*warning')" "tag 'l2' has only 1 ID left (limit 10)"
  expect 6 leafctl next l2 -n 2
  contains "$stderr" "tag 'l2' has only 1 ID left (limit 10)"
  same 'the last one' 10 "$(leafctl -q next l2)"
  same 'doctor' "tag 'l2' is used up: its limit is 10" "$(leafctl doctor | grep '^tags.*failed' | cut -f 3)"
}

@test "next ends at the greatest ID there is" {
  leafctl -q add-tag order --start 9223372036854775805
  same 'the last IDs' '9223372036854775805 9223372036854775806' "$(leafctl -q next order -n 2 | xargs)"
  leafctl -q add-tag limited --start 9223372036854775806 --limit 9223372036854775806
  expect 0 leafctl -q next limited
  for tag in order limited; do
    for how in -q --direct --no-host-buffer; do
      expect 6 leafctl next "$tag" "$how"
      prints ''
      says "leafctl: tag '$tag' is used up: its limit is 9223372036854775806
hint: go on with another tag: no ID is greater"
    done
  done
}

@test "next warns from nine tenths of the limit on, unless it is to be quiet" {
  leafctl -q add-tag order --limit 1000
  expect 0 leafctl next order -n 899 --ranges
  says ''
  expect 0 leafctl next order --ranges
  says "leafctl: warning: tag 'order' has only 100 IDs left (limit 1000)
hint: raise it with 'leafctl tags update order --limit ID'"
  expect 0 leafctl -q next order
  says ''
}

@test "next warns of no limit that was raised" {
  leafctl -q add-tag order --limit 20000
  expect 0 leafctl next order -n 3
  leafctl -q tags update order --limit 5999999999999
  expect 0 leafctl next order -n 30000 --ranges
  says ''
}

@test "next counts a tenth from where the tag began" {
  leafctl -q add-tag all --start 9000000000000000000
  leafctl -q add-tag year --step 10 --start 2026000000 --limit 2026000999
  for direct in '' --direct; do
    expect 0 leafctl next all $direct
    says ''
    expect 0 leafctl next year $direct
    says ''
  done
  leafctl -q tags update all --raise-to 9223372036854000000
  for direct in '' --direct; do
    expect 0 leafctl next all $direct
    contains "$stderr" "warning: tag 'all' has "
  done
}

@test "next refuses a name that no tag can have" {
  for name in '' 'a b' "a'b" 'a/b' 'größe' $'a\nb' "$(printf '%129s' '' | tr ' ' a)" "x'; drop table leaf_alloc; --"; do
    expect 2 leafctl next "$name"
    prints ''
    contains "$stderr" 'hint: '
  done
  expect 4 leafctl next "$(printf '%128s' '' | tr ' ' a)"
  expect 4 leafctl next 'A-Z.a_z:09'
}

@test "eight loops at once draw different IDs" {
  leafctl -q add-tag order
  for loop in 1 2 3 4 5 6 7 8; do
    for _ in {1..60}; do leafctl next order; done >"$BATS_TEST_TMPDIR/ids.$loop" &
  done
  wait
  same 'IDs' 480 "$(cat "$BATS_TEST_TMPDIR"/ids.* | wc -l)"
  same 'different IDs' 480 "$(cat "$BATS_TEST_TMPDIR"/ids.* | sort -u | wc -l)"
  for loop in 1 2 3 4 5 6 7 8; do sort -n -u -C "$BATS_TEST_TMPDIR/ids.$loop"; done
}
