bats_require_minimum_version 1.5.0

setup() {
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
  cd "$BATS_TEST_TMPDIR"
}

@test "encode: a time, a worker and a sequence number make an ID" {
  run -0 leafctl encode --time 2020-05-02T12:13:44.602Z --worker 619 --sequence 18
  [ "$output" = 1256557484213448722 ]
  run -0 leafctl encode --time 1588421624602 --worker 619 --sequence 18
  [ "$output" = 1256557484213448722 ]
}

@test "encode: what is left out is 0" {
  run -0 leafctl encode --time 2010-11-04T01:42:54.657Z
  [ "$output" = 0 ]
}

@test "encode: JSON is what decode prints of the ID" {
  run -0 leafctl encode -o json --time 1656432460105 --layout twitter --field datacenter=11 --worker 26
  local encoded=$output
  run -0 leafctl decode -o json --layout twitter 1541815603606036480
  [ "$output" = "$encoded" ]
}

@test "encode: the worker is the layout's only field of that kind, whatever its name" {
  run -0 leafctl encode --layout sonyflake --time 2021-07-07T17:20:37.710Z --worker 2
  [ "$output" = 362637573840961538 ]
  run -0 leafctl encode --layout instagram --time 1598449407313 --field shard=2675 --field sequence=578
  [ "$output" = 2384288897814875714 ]
}

@test "encode: now is the present" {
  local before after
  before=$(date +%s%3N)
  run -0 leafctl encode --time now
  after=$(date +%s%3N)
  run -0 leafctl decode "$output"
  local made
  made=$(cut -f 4 <<<"$output")
  [ "$before" -le "$made" ]
  [ "$made" -le "$after" ]
}

@test "encode: a value out of a field's bounds is refused by name" {
  for value in 1024 -1 0x10 1e3 '' 99999999999999999999; do
    run -2 --separate-stderr leafctl encode --time now --worker "$value"
    [ "${stderr_lines[0]}" = "leafctl: '--worker' takes a number from 0 to 1023, not '$value'" ]
  done
  run -2 --separate-stderr leafctl encode --time now --sequence 4096
  [ "${stderr_lines[0]}" = "leafctl: '--sequence' takes a number from 0 to 4095, not '4096'" ]
  run -2 --separate-stderr leafctl encode --time now --layout twitter --field datacenter=32
  [ "${stderr_lines[0]}" = "leafctl: '--field datacenter' takes a number from 0 to 31, not '32'" ]
}

@test "encode: a field that the layout lacks is refused, and those it has are named" {
  run -2 --separate-stderr leafctl encode --time now --layout mastodon --worker 1
  [ "${stderr_lines[0]}" = "leafctl: '--worker' does not fit layout 'mastodon', which has no field 'worker'" ]
  [ "${stderr_lines[1]}" = "hint: its fields are time, sequence" ]
  run -2 leafctl encode --time now --field shard=1
  run -2 leafctl encode --time now --field worker
  run -2 leafctl encode --time now --field time=1
}

@test "encode: a field that is set twice is refused" {
  run -2 --separate-stderr leafctl encode --time now --worker 1 --field worker=2
  [ "${stderr_lines[0]}" = "leafctl: the field 'worker' is set twice" ]
  run -2 --separate-stderr leafctl encode --time now --field sequence=1 --field sequence=2
  [ "${stderr_lines[0]}" = "leafctl: the field 'sequence' is set twice" ]
}

@test "encode: a time that the layout cannot hold exits with 6" {
  run -6 --separate-stderr leafctl encode --time 2010-11-04T01:42:54.656Z
  [ "${stderr_lines[0]}" = "leafctl: time '2010-11-04T01:42:54.656Z' is before the epoch of layout 'leaf'" ]
  [ -z "$output" ]
  run -0 leafctl encode --time 2080-07-10T17:30:30.208Z --worker 1023 --sequence 4095
  [ "$output" = 9223372036854775807 ]
  run -6 --separate-stderr leafctl encode --time 2080-07-10T17:30:30.209Z
  [ "${stderr_lines[0]}" = "leafctl: time '2080-07-10T17:30:30.209Z' is past the end of layout 'leaf'" ]
}

@test "encode: what is no time is a usage error, as is none" {
  run -2 --separate-stderr leafctl encode --time 2020-05-32
  [ "${stderr_lines[0]}" = "leafctl: '--time' takes a time from the year 1970 to 9999, not '2020-05-32': '32' is no day" ]
  [[ "${stderr_lines[1]}" == "hint: write it as "* ]]
  run -2 --separate-stderr leafctl encode
  [ "${stderr_lines[0]}" = "leafctl: option '--time' is missing" ]
}
