load support

setup() {
  new_initialized_store
  leafctl -q add-tag order
}
teardown() { remove_store; }

@test "numbers are strict, and the bounds are named" {
  for number in 0 -5 1e6 0x10 +5 ' 5' '5 ' 1.0 99999999999999999999 9223372036854775807 ''; do
    expect 2 leafctl next order -n "$number"
    prints ''
    says "leafctl: '-n' takes a number from 1 to 9223372036854775806, not '$number'"
  done
  for number in 0 1000001 -1; do
    expect 2 leafctl add-tag x --step "$number"
    says "leafctl: '--step' takes a number from 1 to 1000000, not '$number'"
  done
  expect 2 leafctl add-tag x --start -1
  says "leafctl: '--start' takes a number from 0 to 9223372036854775807, not '-1'"
  same 'nothing was drawn' 1 "$(leafctl next order)"
}

@test "durations are strict" {
  for duration in 5 5S 1.5s -1s -0 99999999999999999999h ''; do
    expect 2 leafctl --timeout "$duration" next order
    says "leafctl: '--timeout' takes a duration from 0ms to 24h, not '$duration'
hint: write a whole number and its unit, such as 250ms, 5s, 10m, 1h or 1d"
  done
}

@test "mistyped commands, verbs and options are named with the nearest one" {
  expect 2 leafctl nxt order
  says "leafctl: unknown command 'nxt'
hint: did you mean 'next'?"
  expect 2 leafctl tags lst
  says "leafctl: unknown command 'tags lst'
hint: did you mean 'tags list'?"
  expect 2 leafctl next order --ragnes
  says "leafctl: unknown option '--ragnes'
hint: did you mean '--ranges'?"
}

@test "no command at all is a usage error that shows the commands" {
  expect 2 leafctl
  prints ''
  contains "$stderr" 'Commands:'
  expect 2 leafctl tags
  prints ''
  contains "$stderr" 'Usage: leafctl tags COMMAND'
}

@test "global options work before and after the command" {
  same 'before' '{"tag":"order","id":"1"}' "$(leafctl -o json next order)"
  same 'after' '{"tag":"order","id":"2"}' "$(leafctl next order --output=json)"
  expect 0 leafctl tags --store "$LEAFCTL_STORE" list -o json
}

@test "help goes to standard output and is the same three ways" {
  expect 0 leafctl tags update --help
  says ''
  help=$output
  expect 0 leafctl help tags update
  prints "$help"
  expect 0 leafctl tags update -h
  prints "$help"
  expect 2 leafctl help nxt
  contains "$stderr" "unknown command 'nxt'"
}

@test "the version goes to standard output" {
  expect 0 leafctl --version
  [[ $output =~ ^leafctl\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "help and version work where the configuration is broken and no store is there" {
  mkdir -p "$HOME/.config/leafctl"
  echo 'nonsense: 1' >"$HOME/.config/leafctl/leafctl.yaml"
  unset LEAFCTL_STORE HOME
  export LEAFCTL_OUTPUT=xml
  expect 0 leafctl help next
  expect 0 leafctl next --help
  expect 0 leafctl --version
}

@test "a tag may begin with a dash or be called like a command" {
  leafctl -q add-tag next
  leafctl -q add-tag -- --odd
  same 'a command' 1 "$(leafctl next next)"
  same 'a dash' 1 "$(leafctl next -- --odd)"
}

@test "two dashes before the command are named" {
  local words
  for words in '-- next order' 'tags -- list' '-q -- next' '--'; do
    expect 2 leafctl $words
    prints ''
    says "leafctl: '--' comes before the command
hint: put it after the command, before arguments that begin with '-'"
  done
}

@test "two dashes behind a mistyped command do not hide it" {
  expect 2 leafctl nex --
  says "leafctl: unknown command 'nex'
hint: did you mean 'next'?"
}

@test "text from arguments cannot move the cursor of a terminal" {
  expect 2 leafctl next $'\033[2Jorder'
  lacks "$stderr" $'\033'
  expect 2 leafctl $'nxt\nleafctl: all is well'
  same 'lines' 1 "$(grep -c '^leafctl:' <<<"$stderr")"
}
