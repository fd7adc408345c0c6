bats_require_minimum_version 1.5.0

setup() {
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
  cd "$BATS_TEST_TMPDIR"
}

leaf_line=$'1256557484213448722\tleaf\t2020-05-02T12:13:44.602Z\t1588421624602\t619\t18'

@test "decode: an ID in an argument gives a tab-separated line" {
  run -0 --separate-stderr leafctl decode 1256557484213448722
  [ "$output" = "$leaf_line" ]
  [ -z "$stderr" ]
}

@test "decode: IDs come from standard input where none is given, and for -" {
  run -0 leafctl decode <<<1256557484213448722
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode 0 - 1 <<<1256557484213448722
  [ "${#lines[@]}" -eq 3 ]
  [ "${lines[1]}" = "$leaf_line" ]
}

@test "decode: nothing on standard input gives nothing" {
  run -0 leafctl decode </dev/null
  [ -z "$output" ]
}

@test "decode: the last line may lack its newline" {
  run -0 leafctl decode < <(printf '0\n1256557484213448722')
  [ "${lines[1]}" = "$leaf_line" ]
}

@test "decode: JSON is an object a line, its ID a text" {
  run -0 leafctl decode -o json 1541815603606036480 --layout twitter
  [ "$output" = '{"id":"1541815603606036480","layout":"twitter","time":"2022-06-28T16:07:40.105Z","unix_ms":1656432460105,"datacenter":11,"worker":26,"sequence":0}' ]
}

@test "decode: a terminal gets a line for each key of one ID, and a table of several" {
  run -0 script -qec 'leafctl decode --color never 1256557484213448722' /dev/null
  [ "${lines[0]//$'\r'/}" = 'id        1256557484213448722' ]
  [ "${lines[4]//$'\r'/}" = 'worker    619' ]
  run -0 script -qec 'leafctl decode --color never 1256557484213448722 856165981072306191' /dev/null
  [ "${lines[0]//$'\r'/}" = '                 id  time                      worker  sequence' ]
  [ "${lines[2]//$'\r'/}" = ' 856165981072306191  2017-04-23T15:20:51.339Z     363        15' ]
}

@test "decode: the table of any known layout fits 80 columns" {
  for layout in leaf twitter discord instagram mastodon sonyflake baidu cosid yitter; do
    run -0 script -qec "leafctl decode --color never --layout $layout 1 2" /dev/null
    for line in "${lines[@]}"; do [ "${#line}" -le 81 ]; done
  done
}

@test "decode: a form is read where it is named, as next writes it" {
  for form in 'hex 1170305fd666b012' 'base32 12W1GBZB6DC0J' 'base62 1Up2tABQZwQ' 'dec 1256557484213448722'; do
    run -0 leafctl decode --format ${form% *} "${form#* }"
    [ "$output" = "$leaf_line" ]
  done
  run -0 leafctl decode --template 'ORD-{date:%Y%m%d}-{id:>020}' ORD-20200502-01256557484213448722
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --format base32 <<<12w1gbzb6dcoj
  [ "$output" = "$leaf_line" ]
}

@test "decode: no form is guessed, and what is not quite in it is refused" {
  run -2 --separate-stderr leafctl decode 1170305fd666b012
  [ "${stderr_lines[0]}" = "leafctl: '1170305fd666b012' is not an ID" ]
  run -2 --separate-stderr leafctl decode --format hex 1256557484213448722
  [ "${stderr_lines[0]}" = "leafctl: '1256557484213448722' is not an ID in the form '{id:hex}'" ]
  [ "${stderr_lines[1]}" = "hint: the greatest ID of layout 'leaf' is '7fffffffffffffff' in that form" ]
  run -2 leafctl decode --template 'ORD-{date:%Y%m%d}-{id}' ORD-20200503-1256557484213448722
  run -1 --separate-stderr leafctl decode --format base62 < <(printf '1Up2tABQZwQ\n1Up2tABQZw\n')
  [ "$output" = "$leaf_line" ]
  [ "${stderr_lines[0]}" = "leafctl: line 2: '1Up2tABQZw' is not an ID in the form '{id:base62}'" ]
  run -2 --separate-stderr leafctl decode --format base64 1
  [ "$stderr" = "leafctl: '--format' takes dec, hex, base32 or base62, not 'base64'" ]
  run -2 --separate-stderr leafctl decode --format hex --template '{id}' 1
  [ "${stderr_lines[0]}" = "leafctl: '--format' and '--template' exclude each other" ]
}

@test "decode: a layout is a known one, one in other widths, or made of options" {
  run -0 leafctl decode --layout discord 175928847299117063
  [ "$output" = $'175928847299117063\tdiscord\t2016-04-30T11:18:25.796Z\t1462015105796\t1\t0\t7' ]
  run -0 leafctl decode --layout baidu:29+21+13 --epoch 2016-09-20T00:00:00+08:00 180363646902239241
  [ "$output" = $'180363646902239241\ttime:29,worker:21,sequence:13/1s@1474300800000\t2017-01-19T04:15:46.000Z\t1484799346000\t4\t9' ]
  run -0 leafctl decode --bits 41,10,12 --unit 1ms --epoch 2010-11-04T01:42:54.657Z 1256557484213448722
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --bits time:39,sequence:8,machine:16 --unit 10ms --epoch 1409529600000 362637573840961538
  [ "$output" = $'362637573840961538\tsonyflake\t2021-07-07T17:20:37.710Z\t1625678437710\t0\t2' ]
}

@test "decode: bad lines are reported by number, the rest goes on, and the exit status is 1" {
  run -1 --separate-stderr leafctl decode < <(printf '1\nabc\n\n9223372036854775808\n-5\n 7\n2\n')
  [ "${lines[0]}" = $'1\tleaf\t2010-11-04T01:42:54.657Z\t1288834974657\t0\t1' ]
  [ "${lines[1]}" = $'2\tleaf\t2010-11-04T01:42:54.657Z\t1288834974657\t0\t2' ]
  [ "${#lines[@]}" -eq 2 ]
  [ "${stderr_lines[0]}" = "leafctl: line 2: 'abc' is not an ID" ]
  [ "${stderr_lines[1]}" = "leafctl: line 3: '' is not an ID: it is empty" ]
  [ "${stderr_lines[2]}" = "leafctl: line 4: '9223372036854775808' is not an ID: it is greater than 9223372036854775807" ]
  [ "${stderr_lines[3]}" = "leafctl: line 5: '-5' is not an ID: it is negative" ]
  [ "${stderr_lines[4]}" = "leafctl: line 6: ' 7' is not an ID" ]
  [ "${stderr_lines[5]}" = "leafctl: 5 lines held no ID" ]
}

@test "decode: lines may end as Windows ends them, and the first may begin with a byte order mark" {
  run -0 leafctl decode < <(printf '1256557484213448722\r\n0\r\n1256557484213448722\r')
  [ "${#lines[@]}" -eq 3 ]
  [ "${lines[0]}" = "$leaf_line" ]
  [ "${lines[2]}" = "$leaf_line" ]
  run -0 leafctl decode < <(printf '\xef\xbb\xbf1256557484213448722\r\n')
  [ "$output" = "$leaf_line" ]
  run -1 --separate-stderr leafctl decode < <(printf '1\r2\n\r\n')
  [ "${stderr_lines[0]}" = "leafctl: line 1: '1\x0d2' is not an ID" ]
  [ "${stderr_lines[1]}" = "leafctl: line 2: '' is not an ID: it is empty" ]
}

@test "decode --column: a column by name or number, of a CSV or TSV" {
  run -0 leafctl decode --column id < <(printf 'name,id\n"a, ""b""\nc",1256557484213448722\n')
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --column id < <(printf '\xef\xbb\xbfid,name\r\n"1256557484213448722",x\r\n')
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --column 2 < <(printf 'a\t1256557484213448722\n5" disk\t1256557484213448722\n')
  [ "$output" = "$leaf_line"$'\n'"$leaf_line" ]
  run -0 leafctl decode --column 2 --header < <(printf 'name;id\nb,c;1256557484213448722')
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --column 2 --separator '|' < <(printf 'a,b|1256557484213448722\n')
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --column 2 --separator tab - < <(printf 'a,b\t1256557484213448722\n')
  [ "$output" = "$leaf_line" ]
  run -0 leafctl decode --column 1 -o json --format base62 < <(printf '1Up2tABQZwQ,x\n')
  [ "$(jq -r .id <<<"$output")" = 1256557484213448722 ]
  run -0 leafctl decode --column 1 </dev/null
  [ -z "$output" ]
}

@test "decode --column: what is wrong is reported by the line where the record begins, the rest goes on" {
  run -1 --separate-stderr leafctl decode --column 2 < <(printf 'name,id\na,1\nb\nc,\n\n"d\ne",x\n"f" g,2\n"h,3\ni,4\n')
  [ "$(cut -f 1 <<<"$output" | xargs)" = '1 4' ]
  [ "${stderr_lines[0]}" = "leafctl: line 1: 'id' is not an ID" ]
  [ "${stderr_lines[1]}" = "leafctl: line 3: it has 1 field, and no column 2" ]
  [ "${stderr_lines[2]}" = "leafctl: line 4: '' is not an ID: it is empty" ]
  [ "${stderr_lines[3]}" = "leafctl: line 5: it has 1 field, and no column 2" ]
  [ "${stderr_lines[4]}" = "leafctl: line 6: 'x' is not an ID" ]
  [ "${stderr_lines[5]}" = "leafctl: line 8: it has text after a closing quote" ]
  [ "${stderr_lines[6]}" = "leafctl: line 9: it has a quote that is not closed" ]
  [ "${stderr_lines[7]}" = "leafctl: 7 lines held no ID" ]
}

@test "decode --column: a column that is not there, and options that do not fit, are usage errors" {
  run -2 --separate-stderr leafctl decode --column id < <(printf 'name,ID\na,1\n')
  [ "${stderr_lines[0]}" = "leafctl: no column is called 'id'" ]
  [ "${stderr_lines[1]}" = "hint: the first line names the columns 'name', 'ID'" ]
  run -2 --separate-stderr leafctl decode --column id </dev/null
  [ "${stderr_lines[0]}" = 'leafctl: the input has no line that names its columns' ]
  run -2 --separate-stderr leafctl decode --column id < <(printf 'name|id\na|1\n')
  [ "${stderr_lines[1]}" = "hint: the first line is one column, 'name|id': name the separator with '--separator'" ]
  run -2 --separate-stderr leafctl decode --column id < <(printf 'id,id\n1,1\n')
  [ "${stderr_lines[0]}" = "leafctl: more than one column is called 'id'" ]
  run -2 --separate-stderr leafctl decode --column 0 </dev/null
  [ "${stderr_lines[0]}" = "leafctl: '--column' takes a number from 1 to 2147483647, not '0'" ]
  run -2 leafctl decode --column '' </dev/null
  for separator in '' ab x 7 '"' ö $'\n'; do
    run -2 --separate-stderr leafctl decode --column 1 --separator "$separator" </dev/null
    [[ "$stderr" == "leafctl: '--separator' takes one ASCII character, not '"* ]]
  done
  local separated=$'a\x01655100625837948928'
  run -0 --separate-stderr leafctl decode --column 2 --separator $'\x01' <<<"$separated"
  run -2 --separate-stderr leafctl decode --header </dev/null
  [ "$stderr" = "leafctl: '--header' requires '--column'" ]
  run -2 --separate-stderr leafctl decode --separator , </dev/null
  [ "$stderr" = "leafctl: '--separator' requires '--column'" ]
  run -2 --separate-stderr leafctl decode --column 1 7
  [ "${stderr_lines[0]}" = "leafctl: '--column' is for standard input, which no ID asks for" ]
}

@test "decode --column: many records lose none, and each comes as soon as it is there" {
  seq 1000000000000000000 1000000000000099999 >ids
  sed 's/.*/"a ""quoted"" text, here",&,x/' ids | leafctl decode --column 2 | cut -f 1 | cmp - ids
  mkfifo in out
  leafctl decode --column id <in >out 3>&- &
  exec 8>in 9<out
  printf 'id,name\n7,x\n' >&8
  read -r -t 30 line <&9
  [ "${line%%$'\t'*}" = 7 ]
  exec 8>&- 9<&-
  wait $!
}

@test "decode: a decimal ID that was cut before a zero is refused, as one in any form is" {
  for form in '--format=dec' ''; do
    # shellcheck disable=SC2086 # none, or an option
    run -2 --separate-stderr leafctl decode $form 0084213448722
    [ -z "$output" ]
    [ "${stderr_lines[0]}" = "leafctl: '0084213448722' is not an ID: it has zeros in front" ]
    [[ "${stderr_lines[1]}" == "hint: "* ]]
    # shellcheck disable=SC2086
    run -1 --separate-stderr leafctl decode $form < <(printf '007\n1256557484213448722\n00\n')
    [ "$output" = "$leaf_line" ]
    [ "${stderr_lines[0]}" = "leafctl: line 1: '007' is not an ID: it has zeros in front" ]
    [ "${stderr_lines[1]}" = "leafctl: line 3: '00' is not an ID: it has zeros in front" ]
    # shellcheck disable=SC2086
    run -1 --separate-stderr leafctl decode $form --column 2 < <(printf 'a,007\na,1256557484213448722\n')
    [ "$output" = "$leaf_line" ]
    [ "${stderr_lines[0]}" = "leafctl: line 1: '007' is not an ID: it has zeros in front" ]
  done
  run -0 leafctl decode --template '{id:>020}' 01256557484213448722
  [ "$output" = "$leaf_line" ]
}

@test "decode: an argument that is no ID is a usage error, and nothing is printed" {
  for id in abc '' +5 -5 -9223372036854775793 9223372036854775808 0x10 1e6; do
    run -2 --separate-stderr leafctl decode 1 "$id"
    [ -z "$output" ]
    [[ "${stderr_lines[0]}" == "leafctl: '$id' is not an ID"* ]]
    [[ "${stderr_lines[1]}" == "hint: "* ]]
  done
}

@test "decode: an ID that the layout cannot hold is refused" {
  run -2 --separate-stderr leafctl decode --layout yitter 9223372036854775807
  [ "${stderr_lines[0]}" = "leafctl: '9223372036854775807' is not an ID of layout 'yitter'" ]
}

@test "decode: what is no layout is a usage error that names the known ones" {
  run -2 --separate-stderr leafctl decode --layout leef 1
  [ "${stderr_lines[0]}" = "leafctl: unknown layout 'leef'" ]
  [ "${stderr_lines[1]}" = "hint: did you mean 'leaf'?" ]
  run -2 --separate-stderr leafctl decode --layout zzz 1
  [[ "${stderr_lines[1]}" == *"leaf, twitter, discord"* ]]
  run -2 --separate-stderr leafctl decode --bits 42,10,12 1
  [ "${stderr_lines[0]}" = "leafctl: the fields of a layout have 64 bits, but an ID has 63" ]
  run -2 --separate-stderr leafctl decode --bits 41,10,12 --layout leaf 1
  [ "${stderr_lines[0]}" = "leafctl: '--layout' and '--bits' exclude each other" ]
  run -2 leafctl decode --unit 5us 1
  run -2 leafctl decode --epoch now 1
}

@test "decode: a file that cannot be read and a disk that is full are errors" {
  run -1 --separate-stderr leafctl decode </
  [ "$stderr" = "leafctl: cannot read standard input: Is a directory" ]
  run -1 --separate-stderr sh -c 'leafctl decode 1 >/dev/full'
  [ "${stderr_lines[0]}" = "leafctl: cannot write to standard output: No space left on device" ]
}

@test "decode: the reader of a pipe may go early" {
  run -0 --separate-stderr sh -c 'seq 1000000 | leafctl decode | head -n 1'
  [ "${#lines[@]}" -eq 1 ]
  [ -z "$stderr" ]
}

@test "decode: a million lines lose none" {
  seq 1000000000000000000 1000000000000999999 >ids
  leafctl decode <ids | cut -f 1 | cmp - ids
  leafctl decode -o json <ids | sed 's/^{"id":"\([0-9]*\)",.*}$/\1/' | cmp - ids
}

@test "decode: it asks no store" {
  run -0 leafctl decode --store postgresql://127.0.0.1:1/none 1256557484213448722
  [ "$output" = "$leaf_line" ]
}
