load support

setup() {
  new_initialized_store
  leafctl -q add-tag order
}
teardown() { remove_store; }

@test "next --format writes IDs of a tag in the base, in a width that keeps their order" {
  leafctl -q tags update order --raise-to 4095
  same 'hex' '0000000000000fff 0000000000001000' "$(leafctl next order -n 2 --format hex | xargs)"
  same 'base32' 0000000000401 "$(leafctl next order --format base32)"
  same 'dec' 4098 "$(leafctl next order --format dec)"
  leafctl next order -n 10000 --format base62 >"$BATS_TEST_TMPDIR/ids"
  LC_ALL=C sort -c "$BATS_TEST_TMPDIR/ids"
  all_different 10000 "$BATS_TEST_TMPDIR/ids"
}

@test "next --template writes text, date and padded ID" {
  expect 0 leafctl next order -n 2 --template 'ORD-{date:%Y%m%d}-{id:>012}'
  [[ $output =~ ^ORD-20[0-9]{6}-000000000001$'\n'ORD-20[0-9]{6}-000000000002$ ]]
}

@test "JSON keeps the decimal ID and adds the form as text" {
  same 'a tag' '{"tag":"order","id":"1","text":"O\"1"}' "$(leafctl next order --template 'O"{id}' -o json)"
  same 'a tag without a form' '{"tag":"order","id":"2"}' "$(leafctl next order -o json)"
  leafctl next --snowflake --format base62 -o json >"$BATS_TEST_TMPDIR/line"
  same 'the keys' 'id text' "$(jq -r 'keys_unsorted | join(" ")' "$BATS_TEST_TMPDIR/line")"
  same 'the ID' "$(jq -r .id "$BATS_TEST_TMPDIR/line")" \
    "$(leafctl decode --format base62 "$(jq -r .text "$BATS_TEST_TMPDIR/line")" | cut -f 1)"
}

@test "snowflake IDs in every form are read back by decode" {
  for form in '--format hex' '--format base32' '--format base62' '--template {date:%F}/{id:>025}/{date:%H%M%S}'; do
    leafctl next --snowflake -n 5000 $form >"$BATS_TEST_TMPDIR/written"
    leafctl decode $form <"$BATS_TEST_TMPDIR/written" | cut -f 1 >"$BATS_TEST_TMPDIR/ids"
    all_different 5000 "$BATS_TEST_TMPDIR/ids"
    increasing "$BATS_TEST_TMPDIR/ids"
    LC_ALL=C sort -c "$BATS_TEST_TMPDIR/written"
  done
}

@test "a form that is wrong costs no ID" {
  for form in '--format octal' '--template ORD' '--template {id}{id}' '--template {id:x}' '--template {date:%B}{id}' \
    '--format hex --ranges' '--format hex --template {id}'; do
    expect 2 leafctl next order $form
    prints ''
  done
  same 'the next ID' 1 "$(leafctl next order)"
}
