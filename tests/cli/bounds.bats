bats_require_minimum_version 1.5.0

setup() {
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
  cd "$BATS_TEST_TMPDIR"
}

time_of() { leafctl decode "$1" | cut -f 3; }

@test "bounds: the first and the last ID are those of the first and the last millisecond" {
  run -0 leafctl bounds --from 2022-06-28T00:00:00Z --to 2022-06-29T00:00:00Z
  local first last
  read -r first last <<<"$output"
  [ "$output" = "$first"$'\t'"$last" ]
  [ "$(time_of "$first")" = 2022-06-28T00:00:00.000Z ]
  [ "$(time_of $((first - 1)))" = 2022-06-27T23:59:59.999Z ]
  [ "$(time_of "$last")" = 2022-06-28T23:59:59.999Z ]
  [ "$(time_of $((last + 1)))" = 2022-06-29T00:00:00.000Z ]
}

@test "bounds: stretches that follow each other share no ID and miss none" {
  local last first rest
  last=$(leafctl bounds --from 2022-06-28T00:00:00Z --to 2022-06-29T00:00:00Z | cut -f 2)
  read -r first rest < <(leafctl bounds --from 2022-06-29T00:00:00Z --to 2022-06-30T00:00:00Z)
  [ "$first" = $((last + 1)) ]
  last=$(leafctl bounds --from 2022-06-28T00:00:00.001Z --to 2022-06-28T00:00:00.002Z)
  [ "$(leafctl bounds --from 2022-06-28T00:00:00.0001Z --to 2022-06-28T00:00:00.0019Z)" = "$last" ]
}

@test "bounds: without an end they reach to the layout's last ID" {
  run -0 leafctl bounds --from now-1h
  [ "$(cut -f 2 <<<"$output")" = 9223372036854775807 ]
}

@test "bounds: the ID of a time within is between them, of any layout in order of time" {
  for layout in leaf twitter discord instagram mastodon sonyflake cosid yitter; do
    local first last id
    read -r first last < <(leafctl bounds --layout $layout --from 2022-06-28T00:00:00Z --to 2022-06-28T00:00:01Z)
    id=$(leafctl encode --layout $layout --time 2022-06-28T00:00:00.990Z --field sequence=7)
    [ "$first" -le "$id" ]
    [ "$id" -le "$last" ]
  done
}

@test "bounds: a day is its midnight in UTC, and days are counted back from now" {
  same=$(leafctl bounds --from 2022-06-28T00:00:00Z --to 2022-06-29T00:00:00Z)
  [ "$(leafctl bounds --from 2022-06-28 --to 2022-06-29)" = "$same" ]
  run -0 leafctl bounds --from now-7d --to now-1d
  read -r first last <<<"$output"
  [ "$(($(date -d "$(time_of "$last")" +%s) - $(date -d "$(time_of "$first")" +%s)))" -ge $((6 * 86400 - 1)) ]
  run -0 leafctl encode --time 2022-06-28
  [ "$(time_of "$output")" = 2022-06-28T00:00:00.000Z ]
}

@test "bounds: JSON has both as texts" {
  run -0 leafctl bounds -o json --from 2010-11-04T01:42:54.657Z
  [ "$output" = '{"first":"0","last":"9223372036854775807"}' ]
}

@test "bounds: yesterday and today are days in UTC" {
  local day first last rest
  day=$(date -u +%F)
  read -r first last < <(leafctl bounds --from yesterday --to today)
  # Midnight may have passed in between.
  [ "$day" = "$(date -u +%F)" ] || skip 'the day ended meanwhile'
  [ "$(time_of $((last + 1)))" = "${day}T00:00:00.000Z" ]
  [ "$(time_of "$first")" = "$(date -u -d "$day -1 day" +%F)T00:00:00.000Z" ]
  [ "$(leafctl bounds --from today-1d --to today)" = "$first"$'\t'"$last" ]
  read -r first rest < <(leafctl bounds --from tomorrow)
  [ "$(time_of "$first")" = "$(date -u -d "$day +1 day" +%F)T00:00:00.000Z" ]
  run -0 leafctl encode --time yesterday
  [ "$(time_of "$output")" = "$(date -u -d "$day -1 day" +%F)T00:00:00.000Z" ]
}

@test "bounds: the part of a time that is not understood is named" {
  run -2 --separate-stderr leafctl bounds --from '2022-06-28 noon'
  [ "${stderr_lines[0]}" = "leafctl: '--from' takes a time from the year 1970 to 9999, not '2022-06-28 noon': 'noon' is no hour of two digits" ]
  [[ "${stderr_lines[1]}" == "hint: write it as now, today, yesterday, tomorrow, "* ]]
  run -2 --separate-stderr leafctl bounds --from now --to now-7x
  [ "${stderr_lines[0]}" = "leafctl: '--to' takes a duration from 0ms to 876600h, not '7x'" ]
}

@test "bounds: --sql prints the condition that selects the IDs" {
  run -0 leafctl bounds --from 2022-06-28 --to 2022-06-29 --sql order.id
  [ "$output" = '"order".id BETWEEN 1541572081873846272 AND 1541934469739446271' ]
  run -0 leafctl bounds --from 2022-06-28 --to 2022-06-29 --sql id -o json
  [ "$output" = '{"first":"1541572081873846272","last":"1541934469739446271","where":"id BETWEEN 1541572081873846272 AND 1541934469739446271"}' ]
  run -0 script -qec 'leafctl bounds --from 2010-11-04T01:42:54.657Z --sql id' /dev/null
  [ "${output%$'\r'}" = 'id BETWEEN 0 AND 9223372036854775807' ]
  run -2 --separate-stderr leafctl bounds --from now --sql ''
  [ "${stderr_lines[0]}" = "leafctl: '--sql' takes a column, not '': a part of it is empty" ]
}

@test "bounds: without a start, a range begins at the epoch of its layout; one of the two is needed" {
  [ "$(leafctl bounds --to 2022-06-28 --layout twitter)" = "$(leafctl bounds --from 2010-11-04T01:42:54.657Z --to 2022-06-28 --layout twitter)" ]
  run -2 --separate-stderr leafctl bounds --sql id
  [ "$stderr" = "leafctl: option '--from' or '--to' is missing
hint: see 'leafctl bounds --help'" ]
  run -2 --separate-stderr leafctl bounds --to 2001-01-01
  [ "$stderr" = "leafctl: --to ('2001-01-01') must be later than the epoch of the layout" ]
}

@test "bounds: a stretch that is empty is refused" {
  run -2 --separate-stderr leafctl bounds --from 2022-06-28T00:00:00Z --to 2022-06-28T00:00:00Z
  [ "${stderr_lines[0]}" = "leafctl: --to ('2022-06-28T00:00:00Z') must be later than --from ('2022-06-28T00:00:00Z')" ]
  run -2 --separate-stderr leafctl bounds --layout baidu --from 2022-06-28T00:00:00.001Z --to 2022-06-28T00:00:01Z
  [ "${stderr_lines[1]}" = "hint: its times are 1s apart; choose a longer range" ]
}

@test "bounds: a stretch before the epoch or past the end exits with 6" {
  run -6 leafctl bounds --from 2009-01-01T00:00:00Z --to 2022-06-28T00:00:00Z
  run -6 leafctl bounds --from 2022-06-28T00:00:00Z --to 2081-01-01T00:00:00Z
  run -6 leafctl bounds --from 2081-01-01T00:00:00Z
}

@test "bounds: a layout that is not in order of time has none" {
  run -2 --separate-stderr leafctl bounds --from now --layout worker:10,time:41,sequence:12
  [[ "${stderr_lines[0]}" == *"have no bounds in time, which is not their first field" ]]
}
