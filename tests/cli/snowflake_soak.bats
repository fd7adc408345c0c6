load support

setup() { new_initialized_store; }
teardown() { remove_store; }

@test "four loops of 500 at once draw 2,000 different IDs" {
  draw_in_four_loops 500 "$BATS_TEST_TMPDIR/ids"
}

@test "1,100 hosts that claim at once get 1,024 different workers, and 76 exit with 6 and a hint" {
  # shellcheck disable=SC2016 # expanded by the inner shell
  seq 1100 | xargs -P 16 -I '{}' sh -c \
    'leafctl -q --timeout 60s workers acquire --worker-name w{} 2>"$1/why.{}" || echo "status $?"' sh "$BATS_TEST_TMPDIR" \
    >"$BATS_TEST_TMPDIR/claims"
  grep -v '^status' "$BATS_TEST_TMPDIR/claims" | cut -f 1 | sort -n >"$BATS_TEST_TMPDIR/workers"
  seq 0 1023 | diff - "$BATS_TEST_TMPDIR/workers"
  same 'the refusals' '76 status 6' "$(grep '^status' "$BATS_TEST_TMPDIR/claims" | sort | uniq -c | xargs)"
  same 'the hints' 76 "$(cat "$BATS_TEST_TMPDIR"/why.* | grep -c "^hint: see who holds them .*'leafctl workers recycle WORKER'$")"
}
