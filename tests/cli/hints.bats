# What hints say is done, word by word, and the problem is gone. Which test does so for which hint is listed in hints.tsv;
# drift.bats compares that with the source.
load support

setup() {
  new_initialized_store
  cd "$BATS_TEST_TMPDIR"
  leafctl -q add-tag order
}
teardown() {
  remove_store
  if [ -n "${role:-}" ]; then dropuser "$role"; fi
}

on_sqlite() { [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'; }
on_postgresql() { [ "$TEST_STORE" = postgresql ] || skip 'SQLite has none'; }

# hinted STATUS HINT COMMAND...: it fails so, and the last line is that hint, a pattern of the shell.
hinted() {
  local wanted=$1 hint=$2
  shift 2
  expect "$wanted" "$@"
  # shellcheck disable=SC2053 # a pattern
  if [[ ${stderr_lines[-1]} != "hint: "$hint ]]; then same 'the hint' "hint: $hint" "${stderr_lines[-1]}"; fi
}

# told N: what stands in the N-th pair of quotes of the last hint.
told() { cut -d "'" -f $((2 * $1)) <<<"${stderr_lines[-1]}"; }

# run_told [N]: runs that.
run_told() { expect 0 sh -c "$(told "${1:-1}")"; }

# from FILE COMMAND...: with the file as its standard input.
from() { local file=$1; shift; "$@" <"$file"; }

# run_sql SQL
run_sql() { psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1"; }

new_role() {
  role=${test_database}_role
  run_sql "CREATE ROLE $role LOGIN PASSWORD 'secret'"
}
as_role() { PGUSER=$role PGPASSWORD=secret PGPASSFILE=/dev/null "$@"; }

@test "options and commands that are misspelt or misplaced" {
  on_sqlite
  leafctl -q add-tag -- -odd
  hinted 2 "put it after the command, before arguments that begin with '-'" leafctl -- next -odd
  expect 0 leafctl next -- -odd
  hinted 2 "put it after 'leafctl next'" leafctl --direct next order
  expect 0 $(told 1) --direct order
  hinted 2 "did you mean '--direct'[?]" leafctl next --dirct order
  expect 0 leafctl next "$(told 1)" order
  hinted 2 "did you mean 'next'[?]" leafctl nxt order
  expect 0 leafctl "$(told 1)" order
  hinted 2 "put it after a command, such as 'leafctl bench segment'" leafctl bench --duration 10ms
  expect 0 $(told 1) --duration 10ms
  hinted 2 "the step belongs to the tag: set it with 'leafctl tags update TAG --step N'" leafctl next order --step 5
  expect 0 $(told 1 | sed 's/TAG/order/; s/N$/5/')
  hinted 2 "see 'leafctl next --help'" leafctl next order more
  run_told
  hinted 2 "give a tag, or '--snowflake' for IDs without one" leafctl next
  expect 0 leafctl next "$(told 1)"
  hinted 2 "leave '--format' and '--template' out" leafctl next order --ranges --format hex
  expect 0 leafctl next order --ranges
  hinted 2 "write a whole number and its unit, such as 250ms, 5s, 10m, 1h or 1d" leafctl --timeout 5x next order
  expect 0 leafctl --timeout 250ms next order
  hinted 2 "add '--yes' to do it without being asked" from /dev/null leafctl tags remove order
  expect 0 from /dev/null leafctl tags remove order "$(told 1)"
}

@test "templates" {
  on_sqlite
  hinted 2 'a template names the base itself: {id:base62}' leafctl next order --format base62 --template 'x{id}'
  expect 0 leafctl next order --template 'x{id:base62}'
  hinted 2 'it takes %Y %m %d %H %M %S %j %y %F %T and %%, as in {date:%Y%m%d}' leafctl next order --template '{date:%Q}{id}'
  expect 0 leafctl next order --template '{date:%Y%m%d}{date:%Y %m %d %H %M %S %j %y %F %T and %%}{id}'
  hinted 2 'each ID is a line: leave newlines and tabs out' leafctl next order --template $'{id}\t'
  expect 0 leafctl next order --template '{id}'
  hinted 2 "for example, 'ORD-{date:%Y%m%d}-{id:>012}'" leafctl next order --template ORD
  expect 0 leafctl next order --template "$(told 1)"
  hinted 2 'a brace itself is written twice: {{ or }}' leafctl next order --template '{id}}'
  expect 0 leafctl next order --template '{{{id}}}'
  [[ $output == '{'*'}' ]]
  hinted 2 'the fields are {id} and {date}; a brace itself is written twice: {{ or }}' leafctl next order --template '{x}{id}'
  expect 0 leafctl next order --template '{{x}}{date:%F}{id}'
  hinted 2 'name it once, so that it can be read back' leafctl next order --template '{id}{id}'
  expect 0 leafctl next order --template '{id}'
  hinted 2 'such as {id}, {id:>012}, {id:base32} or {id:>08hex}; the width is 1 to 64' leafctl next order --template '{id:>65}'
  expect 0 leafctl next order --template '{id:>012} {{{{'
  for field in '{id:base32}' '{id:>08hex}' '{id:>64}'; do expect 0 leafctl next order --template "$field"; done
}

@test "IDs, times and layouts" {
  on_sqlite
  hinted 2 'an ID is a decimal number from 0 to *' leafctl decode abc
  expect 0 leafctl decode "${stderr_lines[-1]##* }"
  echo abc >lines
  hinted 1 "an ID of layout 'leaf' is a number from 0 to *" from lines leafctl decode
  expect 0 leafctl decode "${stderr_lines[-1]##* }"
  echo 5 >ids
  hinted 2 "to read the file of that name, put '<' before it" leafctl decode ids
  expect 0 from ids leafctl decode
  hinted 2 "the greatest ID of layout 'leaf' is '*' in that form" leafctl decode --format hex zz
  expect 0 leafctl decode --format hex "$(told 2)"
  hinted 6 'its first time is *' leafctl encode --time 1999-01-01
  expect 0 leafctl encode --time "${stderr_lines[-1]##* }"
  hinted 6 'its last time is *' leafctl encode --time 2100-01-01
  expect 0 leafctl encode --time "${stderr_lines[-1]##* }"
  hinted 2 'IDs hold times in whole milliseconds or longer units; choose a longer range' \
    leafctl bounds --from 2026-01-01T00:00:00.0001Z --to 2026-01-01T00:00:00.0009Z
  expect 0 leafctl bounds --from 2026-01-01T00:00:00.0001Z --to 2026-01-01T00:00:00.0019Z
  hinted 2 'its fields are time, sequence' leafctl encode --time now --layout time:41,sequence:22 --worker 3
  expect 0 leafctl encode --time now --layout time:41,sequence:22 --sequence 3
  hinted 2 "write it as in '--field datacenter=11'; the time is set with '--time'" leafctl encode --time now --layout twitter --field datacenter
  expect 0 leafctl encode --time now --layout twitter $(told 1)
  hinted 2 'they end with * in *' leafctl decode --layout 'time:20,worker:5,sequence:3/1s@0' 9223372036854775807
  expect 0 leafctl decode --layout 'time:20,worker:5,sequence:3/1s@0' "$(sed 's/.*with \([0-9]*\) in.*/\1/' <<<"${stderr_lines[-1]}")"
  hinted 2 "did you mean 'twitter'[?]" leafctl decode --layout twiter 5
  expect 0 leafctl decode --layout "$(told 1)" 5
  hinted 2 "use leaf, twitter, * or a form such as 'time:*'" leafctl decode --layout zzz 5
  expect 0 leafctl decode --layout "$(told 1)" 5
  hinted 2 'the sign bit of a 64-bit ID stays 0; take one bit off the time' leafctl decode --bits 42,10,12 5
  expect 0 leafctl decode --bits 41,10,12 5
  hinted 2 'use at most 15 of a-z, 0-9 and _, a letter first' leafctl decode --layout time:41,Worker:10,sequence:12 5
  expect 0 leafctl decode --layout time:41,w_orker_0123456:10,sequence:12 5
  hinted 2 "a known layout in other widths is written as in '--layout baidu:29+21+13'" leafctl decode --layout baidu --bits 29,21,13 5
  expect 0 leafctl decode $(told 1) 5
}

@test "stretches of time and conditions" {
  on_sqlite
  hinted 2 'write it as now, today, yesterday, tomorrow, *' leafctl bounds --from soon
  for time in now today yesterday tomorrow; do expect 0 leafctl encode --time "$time"; done
  hinted 2 "see 'leafctl bounds --help'" leafctl bounds --sql id
  run_told
  hinted 2 'its times are 1s apart; choose a longer range' leafctl bounds --layout baidu --from 2020-11-20T00:00:00.1Z --to 2020-11-20T00:00:00.2Z
  expect 0 leafctl bounds --layout baidu --from 2020-11-20T00:00:00.1Z --to 2020-11-20T00:00:01.1Z
  hinted 2 "write it as in SQL, such as id, orders.id or '\"Order ID\"'" leafctl bounds --from yesterday --sql a..b
  for column in id orders.id "$(told 1)"; do expect 0 leafctl bounds --from yesterday --sql "$column"; done
}

@test "columns of IDs" {
  on_sqlite
  printf 'name;ID\nx;5\n' >ids
  hinted 2 'choose one that is not a letter, digit or quote, such as , ; | or the word tab' from ids leafctl decode --column ID --separator ab
  expect 0 from ids leafctl decode --column ID --separator ';'
  hinted 2 "the first line names the columns 'name', 'ID'" from ids leafctl decode --column id --separator ';'
  expect 0 from ids leafctl decode --column "$(told 2)" --separator ';'
  printf 'name|ID\nx|5\n' >bars
  hinted 2 "the first line is one column, 'name|ID': name the separator with '--separator'" from bars leafctl decode --column ID
  expect 0 from bars leafctl decode --column ID "$(told 2)" '|'
  printf 'ID,ID\n4,5\n' >twice
  hinted 2 "name the column by its number, with '--header'" from twice leafctl decode --column ID
  expect 0 from twice leafctl decode --column 2 "$(told 1)"
  hinted 2 'leave the IDs out, or name - among them' leafctl decode --column 1 5
  expect 0 from twice leafctl decode --column 2 --header
  expect 0 from twice leafctl decode --column 2 --header -
}

# settings TEXT: of the file that the next command is to read.
settings() { printf "$1" >settings.yaml; }

@test "configuration files" {
  on_sqlite
  local config='leafctl --config settings.yaml'
  settings 'timout: 5s\n'
  hinted 2 "did you mean 'timeout'[?]" $config next order
  settings "$(told 1): 5s\n"
  expect 0 $config next order
  settings 'zzzzzz: 5s\n'
  hinted 2 'the keys are stores, *' $config next order
  settings 'timeout: [1]\n'
  hinted 2 "write 'timeout: VALUE' on one line" $config next order
  settings "$(told 1 | sed 's/VALUE/1s/')\n"
  expect 0 $config next order
  settings 'worker_id: [1]\n'
  hinted 2 "write 'worker_id: VALUE' or 'worker_id: {NAME: VALUE, NAME: VALUE}'" $config next order
  settings "$(told 2 | sed 's/NAME: VALUE/a: 1/; s/NAME: VALUE/b: 2/')\n"
  expect 0 $config next order
  settings 'stores: 5\n'
  hinted 2 "write 'stores: {NAME: URL, NAME: URL}'" $config next order
  settings "$(told 1 | sed "s|NAME: URL|orders: $LEAFCTL_STORE|; s|NAME: URL|users: sqlite:/nowhere|")\n"
  expect 0 $config next order
  settings "stores: {\"or\\\\nders\": $LEAFCTL_STORE}\n"
  hinted 2 "a store's name has 1 to 64 of the characters A-Z a-z 0-9 . _ -" $config next order
  settings "stores: {\"or\\\\0ders\": $LEAFCTL_STORE, users: sqlite:/nowhere}\n"
  hinted 2 "leave its '\\\\0' out" $config next order
  sed -i 's/\\0//' settings.yaml
  hinted 2 "did you mean 'orders'[?]" $config --store ordrs next order
  expect 0 $config --store "$(told 1)" next order
  hinted 2 'the configuration names orders, users' $config --store zzz next order
  expect 0 $config --store orders next order
  settings 'timeout: 5s\n---\ncolor: never\n'
  hinted 2 "leave the line '---' above it out" $config next order
  sed -i '/^---$/d' settings.yaml
  expect 0 $config next order
  mkfifo pipe
  hinted 2 'name a file' leafctl --config pipe next order
  expect 0 $config next order
  mv settings.yaml 'a b.yaml'
  chmod 646 'a b.yaml'
  hinted 2 "see whether it still says what it should, then run 'chmod o-w *'" leafctl --config 'a b.yaml' next order
  run_told
  expect 0 leafctl --config 'a b.yaml' next order
  printf 'stores: {a: postgresql://u:secret@h/d}\n' >'a b.yaml'
  hinted 2 "run 'chmod 600 *', or keep the password in a file that PGPASSFILE names" leafctl --config 'a b.yaml' next order
  run_told
  expect 0 leafctl --config 'a b.yaml' next order
}

@test "names of stores" {
  on_sqlite
  hinted 2 "for a SQLite file, write 'sqlite:$PWD/path.db'" leafctl --store "$PWD/path.db" init-db
  expect 0 leafctl --store "$(told 1)" init-db
  hinted 2 'such as sqlite:PATH or postgresql://HOST/DATABASE' leafctl --store '' next order
  expect 0 leafctl --store "sqlite:$PWD/leaf.db" next order
  for store in sqlite: sqlite::memory: mysql://x; do
    hinted 2 "a store is 'sqlite:PATH', 'postgresql://HOST/DATABASE', 'service=NAME' or 'host=... dbname=...'" leafctl --store "$store" next order
  done
  expect 0 leafctl --store sqlite:leaf.db next order
  hinted 2 "write '@' as %40, ':' as %3A and '/' as %2F in names and passwords, or keep the password in PGPASSFILE" \
    leafctl --store 'postgresql://u:p@w@127.0.0.1:1/d' --timeout 0 next order
  hinted 3 'check that the server runs, and the host and port' leafctl --store 'postgresql://u:p%40w@127.0.0.1:1/d' --timeout 0 next order
  contains "$stderr" 'hint: keep it in a file that PGPASSFILE names'
  echo '127.0.0.1:1:d:u:p@w' >passwords
  chmod 600 passwords
  PGPASSFILE=passwords expect 3 leafctl --store 'postgresql://u@127.0.0.1:1/d' --timeout 100ms next order
  lacks "$stderr" PGPASSFILE
  mkdir folder
  for store in folder /dev/null; do
    hinted 2 'name another file with --store sqlite:PATH' leafctl --store "sqlite:$store" next order
  done
  echo 'no database, but long enough to be taken for one' >text
  local restore_first='if it ever was a store, restore it from a backup as leafctl-operations(7) says, raising each tag above all IDs drawn; only if it never was, name another file with --store sqlite:PATH'
  hinted 2 "$restore_first" leafctl --store sqlite:text next order
  sqlite3 other.db 'CREATE TABLE cats (name)'
  hinted 2 "$restore_first" leafctl --store sqlite:other.db init-db
  hinted 2 "create it with mkdir, or check the path: '~' is not replaced here" leafctl --store sqlite:new/leaf.db init-db
  mkdir new
  expect 0 leafctl --store sqlite:new/leaf.db init-db
  hinted 2 "create it with 'leafctl --store sqlite:newer.db init-db'" leafctl --store sqlite:newer.db tags list
  run_told
  expect 0 leafctl --store sqlite:newer.db tags list
  sqlite3 empty.db 'CREATE TABLE x (y); DROP TABLE x'
  hinted 2 "create them with 'leafctl --store sqlite:empty.db init-db'" leafctl --store sqlite:empty.db tags list
  run_told
  expect 0 leafctl --store sqlite:empty.db tags list
}

@test "a SQLite store has neither roles nor a server" {
  on_sqlite
  hinted 2 "keep the file from others with 'chmod', or use PostgreSQL" leafctl init-db --runtime-role shop
  chmod 600 leaf.db
  expect 0 leafctl next order --direct
  hinted 2 'take nothing over, or use PostgreSQL' leafctl init-db --adopt --yes
  expect 0 leafctl init-db --yes
  hinted 2 'this command is for stores in PostgreSQL' leafctl failover show
}

@test "tags" {
  hinted 2 "name '--step', '--limit', '--description' or '--raise-to'" leafctl tags update order
  expect 0 leafctl tags update order "$(told 1)" 10 "$(told 3)" text "$(told 4)" 5
  hinted 2 "for no limit, write '--limit none'" leafctl tags update order --limit nothing
  expect 0 leafctl tags update order $(told 1)
  for limit in nothing 0; do
    hinted 2 "for no limit, write '--limit none'" leafctl add-tag unlimited --limit $limit
    expect 0 leafctl add-tag unlimited $(told 1)
  done
  hinted 1 "change it with 'leafctl tags update order --step 5'" leafctl add-tag order --step 5
  run_told
  expect 0 leafctl add-tag order --step 5
  hinted 1 "change it with 'leafctl tags update order --limit 500'" leafctl add-tag order --limit 500
  run_told
  expect 0 leafctl add-tag order --limit 500
  hinted 1 "change it with 'leafctl tags update order --description TEXT'" leafctl add-tag order --description TEXT
  run_told
  expect 0 leafctl add-tag order --description TEXT
  hinted 1 "raise it with 'leafctl tags update order --raise-to 50'" leafctl add-tag order --start 50
  run_told
  same 'the next ID' 50 "$(leafctl tags show order | cut -f 2)"
  hinted 2 "a tag's name has 1 to 128 characters of A-Z a-z 0-9 . _ : -" leafctl add-tag 'a b'
  expect 0 leafctl add-tag "$(printf 'A%.0sz0._:-' {1..18})aa"
  hinted 4 "did you mean 'order'[?] otherwise create it with 'leafctl add-tag ordr'" leafctl next ordr
  run_told 2
  hinted 4 "see which there are with 'leafctl tags list'" leafctl tags remove zebra --yes
  run_told
  hinted 4 "create it with 'leafctl add-tag zebra'" leafctl next zebra
  run_told
  expect 0 leafctl next zebra
  leafctl -q add-tag few --limit 20
  expect 0 leafctl next few -n 19
  hinted 0 "raise it with 'leafctl tags update few --limit ID'" leafctl next few
  expect 0 sh -c "$(told 1 | sed 's/ID/100/')"
  hinted 6 "raise it with 'leafctl tags update few --limit ID'" leafctl next few -n 100
  expect 0 sh -c "$(told 1 | sed 's/ID/1000/')"
  expect 0 leafctl next few -n 100
  hinted 2 'choose a limit of 1999 or more' leafctl tags update few --raise-to 2000
  expect 0 leafctl tags update few --raise-to 2000 --limit 1999
  leafctl -q tags remove few --yes
  next=$(leafctl add-tag few --start 5 2>&1 | sed -n 's/.*to go on with \([0-9]*\),.*/\1/p')
  hinted 1 "leave the start out to go on with $next, or choose a higher one" leafctl add-tag few --start 5
  hinted 1 "choose a limit of $next or more" leafctl add-tag few --limit 5
  expect 0 leafctl add-tag few --limit "$next"
  same 'the next ID' "$next" "$(leafctl next few)"
  leafctl -q tags remove few --yes
  expect 0 leafctl add-tag few
  leafctl -q add-tag greatest --start 9223372036854775805
  expect 0 leafctl next greatest -n 2
  same 'the hint' 'go on with another tag: no ID is greater' \
    "$(leafctl doctor | awk -F '\t' '$1 == "tags" && $5 == "greatest" { print $4 }')"
  hinted 6 'go on with another tag: no ID is greater' leafctl next greatest
  leafctl -q tags remove greatest --yes
  hinted 1 'go on with another tag: no ID is greater' leafctl add-tag greatest --start 5
  expect 0 leafctl next order
}

@test "files of tags" {
  on_sqlite
  local import='leafctl tags import file'
  printf 'a 5 10\n' >file
  expect 2 $import
  contains "$stderr" "hint: separate the fields with commas or tabs, as 'mysql -B' does"
  printf 'a,5,10\n' >file
  expect 0 $import
  printf 'b,5\n' >file
  expect 2 $import
  contains "$stderr" "hint: begin with a line of column names, or write biz_tag,max_id,step,description,update_time"
  printf 'tag,next_id\nb,5\n' >file
  expect 0 $import
  printf 'biz_tag,max_id,step,description,update_time\nc,5,10,x,2026-11-20 00:00:00\n' >file
  expect 0 $import
  printf 'tag,next_id,zz\nd,5,6\n' >file
  expect 2 $import
  contains "$stderr" 'hint: the columns are tag (or biz_tag), next_id (or max_id), step, limit, '
  printf 'tag,next_id,step,limit\nd,5,6,700\n' >file
  expect 0 $import
  printf 'tag,next_id\n"e"x,5\n' >file
  expect 2 $import
  contains "$stderr" 'hint: a quote within quotes is written twice'
  printf 'foo: 5\n' >file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" "hint: write it as 'leafctl tags export' does"
  leafctl tags export >file.yaml
  expect 0 leafctl tags import file.yaml
  printf 'tags: 5\n' >file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" "hint: each tag begins with '- tag: NAME'"
  printf 'tags:\n- tag: NAME\n  zz: 3\n' >file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" 'hint: the keys are tag (or biz_tag), next_id (or max_id), step, limit, '
  printf 'tags:\n- tag: NAME\n  next_id: 3\n' >file.yaml
  expect 0 leafctl tags import file.yaml
  printf 'tags:\n- tag: f\n  next_id: 3\n---\ntags:\n- tag: g\n  next_id: 3\n' >file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" "hint: leave the line '---' and the second 'tags:' out, or import two files"
  sed -i '4,5d' file.yaml
  expect 0 leafctl tags import file.yaml
  leafctl -q add-tag low --limit 10
  printf 'tags:\n- tag: low\n  next_id: 50\n' >file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" 'hint: name a higher limit in the file'
  echo '  limit: 100' >>file.yaml
  expect 0 leafctl tags import file.yaml
  leafctl -q tags remove low --yes
  sed -i 's/100/10/; s/50/5/' file.yaml
  expect 2 leafctl tags import file.yaml
  contains "$stderr" 'hint: name a limit of 50 or more in the file'
  sed -i 's/10/50/' file.yaml
  expect 0 leafctl tags import file.yaml
  : >file
  hinted 2 'check whether the program that writes it has failed' $import
}

@test "workers" {
  hinted 2 "see 'leafctl workers list'" leafctl workers recycle --force
  run_told
  hinted 4 "see which are held with 'leafctl workers list'" leafctl workers recycle 7
  run_told
  leafctl -q workers acquire --worker-name a >lease
  hinted 5 'wait until *, when its window is over, or take another with --worker-id' leafctl workers acquire --worker-name b --worker-id 0
  expect 0 leafctl workers acquire --worker-name b --worker-id 5
  hinted 5 "free it with 'leafctl workers recycle 0' when its window is over" leafctl workers release 0 --worker-name b
  hinted 5 'wait until then, or free it now with --force. No ID can repeat: the holder will take another worker' sh -c "$(told 1)"
  expect 0 leafctl workers recycle 0 --force --yes
  leafctl -q workers acquire --worker-name c --worker-id 9 --window 10ms >lease
  until_state 9 lapsed
  hinted 5 "free it with 'leafctl workers recycle 9'" leafctl workers acquire --worker-name b --worker-id 9
  run_told
  expect 0 leafctl workers acquire --worker-name b --worker-id 9
  hinted 5 "free it with 'leafctl workers recycle 9' when its window is over" leafctl workers release 9 --worker-name a
}

@test "a layout that is not the store's" {
  hinted 2 "name the right store or the right layout; 'leafctl show-config' shows where both come from" leafctl next --snowflake --layout twitter
  run_told
  expect 0 leafctl next --snowflake --layout leaf
  hinted 2 'a deployment keeps its layout; make another store for another layout' leafctl init-db --layout twitter
  LEAFCTL_STORE=sqlite:$PWD/twitter.db expect 0 leafctl init-db --layout twitter
  LEAFCTL_STORE=sqlite:$PWD/twitter.db expect 0 leafctl next --snowflake --layout twitter
  LEAFCTL_STORE=sqlite:$PWD/new.db hinted 2 "the SQL creates the tables; 'leafctl init-db --layout leaf' then sets the layout" leafctl init-db --dry-run --layout leaf
  LEAFCTL_STORE=sqlite:$PWD/new.db run_told
}

@test "the folder of a host" {
  on_sqlite
  export LEAFCTL_RUNTIME_DIR="$PWD/a b"
  mkdir -m 755 "$LEAFCTL_RUNTIME_DIR"
  hinted 5 "if nobody else has written in it, 'chmod 00700 *' fixes it" leafctl next order
  run_told
  expect 0 leafctl next order
  touch "$PWD/file"
  LEAFCTL_RUNTIME_DIR=$PWD/file/x hinted 2 'name another one with --runtime-dir, or go without with --no-host-buffer' leafctl next order
  LEAFCTL_RUNTIME_DIR=$PWD/file/x expect 0 leafctl next order --no-host-buffer
  LEAFCTL_RUNTIME_DIR=$PWD/file/x expect 0 leafctl next order --runtime-dir "$PWD/other"
  export LEAFCTL_RUNTIME_DIR="$PWD/no such/folder"
  mends=$(leafctl doctor | awk -F '\t' '$1 == "host_buffer" { print $4 }' | cut -d "'" -f 2)
  expect 0 sh -c "$mends"
  expect 0 leafctl next order
  export LEAFCTL_HOST_BUFFER=no
  hinted 2 "see 'host_buffer' and 'runtime_dir' in 'leafctl show-config'" leafctl bench segment --host-buffer --count 10
  run_told 3
  unset LEAFCTL_HOST_BUFFER
  expect 0 leafctl bench segment --host-buffer --count 10
}

@test "PostgreSQL: logins, databases and schemas" {
  on_postgresql
  hinted 2 "create it with 'createdb ${test_database}_new', or use another database" leafctl --store "postgresql:///${test_database}_new" init-db
  run_told
  expect 0 leafctl --store "postgresql:///${test_database}_new" init-db
  dropdb "${test_database}_new"
  PGPASSFILE=/dev/null PGPASSWORD=wrong hinted 2 'check the user and the password (PGPASSFILE)' leafctl tags list
  expect 0 leafctl tags list
  hinted 2 'define it in ~/.pg_service.conf, or in the file that PGSERVICEFILE names' leafctl --store service=nowhere tags list
  printf '[nowhere]\ndbname=%s\n' "$test_database" >services
  PGSERVICEFILE=$PWD/services expect 0 leafctl --store service=nowhere tags list
  hinted 2 "see 'Connection Strings' in PostgreSQL's libpq manual" leafctl --store 'host=localhost no_such_word=1' tags list
  PGOPTIONS='-c search_path=nowhere' hinted 2 "create one, or name one with options='-c search_path=SCHEMA' in the store's URL" leafctl init-db
  expect 0 leafctl --store "dbname=$test_database options='-c search_path=public'" init-db
  run_sql 'CREATE SCHEMA nowhere'
  PGOPTIONS='-c search_path=nowhere' expect 0 leafctl init-db
}

@test "PostgreSQL: a database that is renamed, lets nobody in, or is left over" {
  on_postgresql
  expect 0 leafctl next order
  end_sessions() { psql -qAtX -d postgres -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$test_database'" -c "$1" >/dev/null; }
  end_sessions "ALTER DATABASE \"$test_database\" RENAME TO \"${test_database}_old\""
  hinted 2 'this host has drawn IDs from a store of that name: find out where its tables are now*a renamed database*' leafctl next order --direct
  end_sessions "ALTER DATABASE \"${test_database}_old\" RENAME TO \"$test_database\""
  expect 0 leafctl next order --direct
  end_sessions "ALTER DATABASE \"$test_database\" ALLOW_CONNECTIONS false"
  hinted 3 "if it is to be used, let its owner run 'ALTER DATABASE \"$test_database\" ALLOW_CONNECTIONS true'" leafctl next order --direct
  psql -qAtX -d postgres -c "$(told 1)"
  expect 0 leafctl next order --direct
  hinted 2 "leave 'replication' out of the store's URL or service" leafctl --store "$LEAFCTL_STORE?replication=database" next order --direct
  expect 0 leafctl next order --direct
  psql -qAtX -d postgres -c "UPDATE pg_database SET datconnlimit = -2 WHERE datname = '$test_database'"
  hinted 2 "a DROP DATABASE that was interrupted has left it behind: let its owner run 'DROP DATABASE \"$test_database\"', then restore it, or use another" leafctl next order --direct
  psql -qAtX -d postgres -c "$(told 1)"
}

@test "PostgreSQL: changes that came by logical replication" {
  on_postgresql
  run_sql 'ALTER TABLE leaf_event ALTER event_id RESTART WITH 1'
  hinted 5 'if the tables came here by logical replication, run *' leafctl tags update order --step 9
  run_sql "$(told 1)"
  expect 0 leafctl tags update order --step 9
}

@test "PostgreSQL: tables that somebody has made something else of" {
  on_postgresql
  new_role
  leafctl -q init-db --runtime-role "$role"
  # mended SQL: that mends it.
  mended() {
    expect 0 leafctl doctor
    contains "$output" "the tables are not as they were made: "
    run_sql "$1"
    expect 0 as_role leafctl next order --direct
    expect 0 as_role leafctl doctor --exit-code
    lacks "$output" "the tables are not as they were made"
  }
  for table in alloc worker meta; do
    run_sql "ALTER TABLE leaf_$table ENABLE ROW LEVEL SECURITY"
    hinted 5 "as the owner or a superuser, run 'ALTER TABLE public.leaf_$table DISABLE ROW LEVEL SECURITY'" as_role leafctl next order --direct
    statement=$(told 1)
    expect 1 as_role leafctl doctor --exit-code
    contains "$output" "public.leaf_$table has row-level security; no IDs are drawn"
    lacks "$output" 'are gone from the table'
    expect 0 leafctl next order --direct
    expect 0 leafctl doctor --exit-code
    mended "$statement"
  done
  run_sql 'CREATE TABLE child () INHERITS (leaf_alloc)'
  for command in init-db 'tags list' 'next order --direct'; do
    hinted 5 "as the owner or a superuser, run 'ALTER TABLE public.child NO INHERIT public.leaf_alloc'" leafctl $command
  done
  mended "$(told 1)"
  run_sql 'CREATE RULE kept AS ON UPDATE TO leaf_alloc DO INSTEAD NOTHING'
  hinted 5 "as the owner or a superuser, run 'DROP RULE kept ON public.leaf_alloc'" leafctl next order --direct
  mended "$(told 1)"
  run_sql 'ALTER TABLE leaf_alloc RENAME TO plain; CREATE VIEW leaf_alloc AS SELECT * FROM plain'
  hinted 5 "as the owner or a superuser, run 'ALTER TABLE public.leaf_alloc RENAME TO leaf_alloc_replaced; ALTER TABLE public.plain RENAME TO leaf_alloc'" leafctl next order --direct
  mended "$(told 1)"
  run_sql 'CREATE SCHEMA away; ALTER TABLE leaf_alloc SET SCHEMA away; CREATE VIEW leaf_alloc AS SELECT * FROM away.leaf_alloc'
  hinted 5 'find out who replaced the table, and put it back, from a backup if need be; a new store would repeat IDs' leafctl next order --direct
  run_sql 'DROP VIEW leaf_alloc; ALTER TABLE away.leaf_alloc SET SCHEMA public'
  expect 0 leafctl next order --direct
}

@test "PostgreSQL: triggers, constraints and publications of others" {
  on_postgresql
  run_sql "CREATE FUNCTION keep() RETURNS event_trigger LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'no DDL here'; END \$\$;
    CREATE EVENT TRIGGER keep ON ddl_command_start EXECUTE FUNCTION keep()"
  hint="it is function public.keep() that fails, which a trigger or event trigger runs that is not the store's: mend it, or disable that trigger"
  hinted 5 "$hint" leafctl init-db --functions
  run_sql 'ALTER EVENT TRIGGER keep DISABLE'
  expect 0 leafctl init-db --functions
  run_sql 'ALTER TABLE leaf_alloc ADD CONSTRAINT small CHECK (max_id < 1000)'
  hinted 5 'find out who has changed constraints or defaults of the table, and undo that' leafctl tags update order --raise-to 2000
  run_sql 'ALTER TABLE leaf_alloc DROP CONSTRAINT small'
  expect 0 leafctl tags update order --raise-to 2000
  run_sql 'ALTER TABLE leaf_alloc REPLICA IDENTITY NOTHING; CREATE PUBLICATION p FOR TABLE leaf_alloc'
  hinted 5 "run 'ALTER TABLE ... REPLICA IDENTITY FULL' for that table, or take it out of the publication" leafctl next order --direct
  run_sql "$(told 1 | sed 's/\.\.\./leaf_alloc/')"
  expect 0 leafctl next order --direct
}

@test "PostgreSQL: a server or a host that is short of something" {
  on_postgresql
  new_role
  leafctl -q init-db --runtime-role "$role"
  run_sql "ALTER ROLE $role CONNECTION LIMIT 0"
  hinted 3 'let other sessions end; or raise max_connections, or the CONNECTION LIMIT of the role or database that is named' as_role leafctl --timeout 0 next order --direct
  contains "$stderr" "too many connections for role"
  run_sql "ALTER ROLE $role CONNECTION LIMIT 5"
  expect 0 as_role leafctl next order --direct
  mkfifo pipe
  PGSERVICEFILE=$PWD/pipe PGSERVICE=ids hinted 2 'write that to a file, and name it in PGSERVICEFILE' timeout 60 leafctl next order --direct
  printf '[ids]\ndbname=%s\n' "$test_database" >services
  PGSERVICEFILE=$PWD/services PGSERVICE=ids expect 0 leafctl next order --direct
  # What the server lacks, in the words of a trigger.
  for lack in "58P01:look at the server: the disk of a tablespace may not be mounted, or a library not be installed" \
    "53100:free some space on the server's disk"; do
    run_sql "CREATE OR REPLACE FUNCTION lack() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
      RAISE 'it is not there' USING ERRCODE = '${lack%%:*}'; END \$\$;
      CREATE TRIGGER lack BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION lack()"
    hinted 3 "${lack#*:}" leafctl next order --direct
    run_sql 'DROP TRIGGER lack ON leaf_alloc'
    expect 0 leafctl next order --direct
  done
  # A stack that no thread finds room for.
  runs_within 4000000
  few_threads() (ulimit -s 8000000 && ulimit -v 4000000 && exec leafctl "$@")
  hinted 3 "give the server's address: hostaddr=ADDRESS; or allow more threads: see 'ulimit -a', and TasksMax= of a service" \
    few_threads --store "host=localhost dbname=$test_database" next order --direct
  expect 0 few_threads --store "host=localhost hostaddr=127.0.0.1 dbname=$test_database" next order --direct
}

@test "PostgreSQL: tables without their functions" {
  on_postgresql
  hint="find out who moved or dropped it: what was moved has to go back, and what is gone is made anew with 'leafctl init-db'"
  move() { for table in alloc meta worker event; do run_sql "ALTER TABLE $1.leaf_$table SET SCHEMA $2"; done; }
  run_sql 'CREATE SCHEMA app'
  move public app
  PGOPTIONS='-c search_path=app' hinted 5 "$hint" leafctl next order --direct
  move app public
  expect 0 leafctl next order --direct
  run_sql 'DROP FUNCTION leaf_server(oid) CASCADE'
  hinted 5 "$hint" leafctl next order --direct
  run_told
  expect 0 leafctl next order --direct
}

@test "PostgreSQL: roles and their rights" {
  on_postgresql
  role=${test_database}_role
  hinted 2 "create it with 'CREATE ROLE \"$role\" LOGIN'" leafctl init-db --runtime-role "$role"
  run_sql "$(told 1) PASSWORD 'secret'"
  as_role hinted 2 "log in as the owner, who can let others draw IDs with 'leafctl init-db --runtime-role ROLE'" leafctl next order --direct
  expect 0 sh -c "$(told 1 | sed "s/ROLE/$role/")"
  as_role expect 0 leafctl next order --direct
  hinted 2 "a role's name has 1 to 63 characters" leafctl init-db --runtime-role ''
  hinted 2 'name a role of its own' leafctl init-db --runtime-role public
  hinted 2 'name another role, neither a superuser nor a member of the owner' leafctl init-db --runtime-role "${PGUSER:-postgres}"
  expect 0 leafctl init-db --runtime-role "$role"
  run_sql 'GRANT DELETE ON leaf_alloc TO PUBLIC'
  hinted 5 'revoke that from PUBLIC and from the roles that it is a member of' leafctl init-db --runtime-role "$role"
  run_sql 'REVOKE DELETE ON leaf_alloc FROM PUBLIC'
  expect 0 leafctl init-db --runtime-role "$role"
  run_sql "ALTER SCHEMA public OWNER TO $role"
  mends=$(leafctl doctor | grep 'by owning schema public' | cut -f 4)
  hinted 5 "$mends" leafctl init-db --runtime-role "$role"
  run_sql "$(told 1)"
  expect 0 leafctl init-db --runtime-role "$role"
  lacks "$(leafctl doctor)" 'by owning schema'
  run_sql 'GRANT CREATE ON SCHEMA public TO PUBLIC'
  mends=$(leafctl doctor | awk -F '\t' '$1 == "rights" && $2 == "warning" { print $4 }' | cut -d "'" -f 2)
  run_sql "$mends"
  lacks "$(leafctl doctor)" 'may create objects'
}

@test "PostgreSQL: what is not durable leads to doctor, and that to what mends it" {
  on_postgresql
  run_sql 'ALTER TABLE leaf_worker SET UNLOGGED'
  hinted 5 "find it with 'leafctl doctor', and make it durable with ALTER TABLE ... SET LOGGED" leafctl tags list
  run_told
  run_sql "$(awk -F '\t' '$1 == "durability" && $2 == "failed" { print $4 }' <<<"$output" | cut -d "'" -f 2)"
  expect 0 leafctl tags list
  for options in synchronous_commit=off client_min_messages=error; do
    PGOPTIONS="-c $options" hinted 5 "leave both at their defaults for this role and database, and out of PGOPTIONS; see which one it is with 'leafctl doctor'" leafctl next order --direct
    contains "$(PGOPTIONS="-c $options" leafctl doctor)" "${options%=*}"
  done
  PGOPTIONS='-c session_replication_role=replica' hinted 5 'leave it at its default for this role and database, and out of PGOPTIONS' leafctl next order --direct
  expect 0 leafctl next order --direct
  PGOPTIONS='-c default_transaction_read_only=on' hinted 3 'leave default_transaction_read_only at its default for this role and database, and out of PGOPTIONS' leafctl next order --direct
  expect 0 leafctl next order --direct
}

@test "PostgreSQL: rows of tags that are gone" {
  on_postgresql
  expect 0 leafctl next order -n 20 --direct
  run_sql 'ALTER TABLE leaf_alloc DISABLE TRIGGER USER; DELETE FROM leaf_alloc; ALTER TABLE leaf_alloc ENABLE TRIGGER USER'
  LEAFCTL_RUNTIME_DIR=$PWD/another_host hinted 5 "find out the highest ID of the tag that any host has drawn or buffered, and add it to go on from a higher one with 'leafctl add-tag TAG --start ID'" \
    leafctl add-tag order --step 5
  mends=$(leafctl doctor | awk -F '\t' '$2 == "failed" && $4 ~ /^add each one/ { print $4 }')
  same 'the hints agree' "$(told 1)" "$(cut -d "'" -f 2 <<<"$mends")"
  expect 0 sh -c "$(told 1 | sed 's/TAG/order/; s/ID/21/')"
  lacks "$(leafctl doctor)" 'add each one'
  same 'the next ID' 21 "$(leafctl next order --direct)"
}

@test "a store of an earlier release" {
  case $TEST_STORE in
    sqlite)
      export LEAFCTL_STORE=sqlite:$PWD/older.db
      make() { sqlite3 older.db; }
      ;;
    postgresql)
      run_sql 'CREATE SCHEMA older'
      export LEAFCTL_STORE="dbname=$test_database options='-c search_path=older'"
      make() { psql -qX -v ON_ERROR_STOP=1 -d "$test_database"; }
      ;;
  esac
  # All that init-db would run, but for the last migration.
  leafctl init-db --dry-run >all.sql
  last=$(grep -n '^-- migration ' all.sql | tail -n 1 | cut -d : -f 1)
  { head -n "$((last - 1))" all.sql; echo 'COMMIT;'; } | make
  hinted 2 "upgrade it with 'leafctl * init-db'" leafctl --store "$LEAFCTL_STORE" tags list
  same 'the hint' "upgrade it with 'leafctl init-db'" "$(leafctl doctor | awk -F '\t' '$1 == "schema" && $2 == "failed" { print $4 }')"
  expect 0 leafctl init-db
  expect 0 leafctl tags list
  contains "$(leafctl doctor)" $'schema\tok'
}

# as_nobody COMMAND...: as a user who owns nothing.
as_nobody() { setpriv --reuid 65534 --clear-groups env LEAFCTL_RUNTIME_DIR="$PWD/nobody" "$@"; }

may_be_nobody() {
  [ "$(id -u)" -eq 0 ] || skip 'needs root, to be somebody else'
  chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
  mkdir -m 777 public
  cd public
  as_nobody leafctl --version || skip 'other users cannot run the program'
}

@test "files that this user may not write" {
  on_sqlite
  may_be_nobody
  export LEAFCTL_STORE=sqlite:$PWD/leaf.db
  leafctl -q init-db
  leafctl -q add-tag order
  chmod 644 leaf.db
  hinted 2 "check who may write to the file, its '-journal' and its folder" as_nobody leafctl next order --direct
  rights=$(as_nobody leafctl doctor | awk -F '\t' '$1 == "rights"')
  contains "$rights" $'\t'"let this user write there with 'chown' or 'chmod', or use the store as its owner"
  chown 65534 leaf.db
  hinted 2 "check who may write to the file, its '-journal' and its folder" as_nobody leafctl next order --direct
  chown 65534 leaf.db-journal
  expect 0 as_nobody leafctl next order --direct
  contains "$(as_nobody leafctl doctor)" $'rights\tok'
  chmod 700 .
  hinted 2 'check the path and who may write to its folder' as_nobody leafctl next order --direct
  chmod 777 .
  expect 0 as_nobody leafctl next order --direct
  unset LEAFCTL_STORE
  hinted 2 "name one in 'LEAFCTL_STORE'" as_nobody env -u HOME leafctl next order --direct
  LEAFCTL_STORE=sqlite:$PWD/leaf.db expect 0 as_nobody env -u HOME leafctl next order --direct
  HOME=/proc hinted 1 'name another store with --store' as_nobody leafctl init-db
  HOME=/proc expect 0 as_nobody leafctl --store "sqlite:$PWD/leaf.db" next order --direct
}

@test "buffers of other users" {
  on_sqlite
  [ "$(id -u)" -eq 0 ] || skip 'for root'
  leafctl -q next order
  hinted 2 'run this as that user' leafctl status --all-users --forget
  expect 0 leafctl status --forget
}

@test "a step that no program can buffer" {
  on_sqlite
  sqlite3 leaf.db 'UPDATE leaf_alloc SET step = 9000000000000000'
  hinted 1 "lower it with 'leafctl tags update order --step N'" leafctl next order
  expect 0 sh -c "$(told 1 | sed 's/N$/1000/')"
  expect 0 leafctl next order
}

@test "a layout that begins later, and a store in memory" {
  on_sqlite
  hint=$(at '@2009-01-01 00:00:00' leafctl doctor | awk -F '\t' '$1 == "layout" { print $4 }')
  same 'the hint' "set the clock right, or choose another layout with 'leafctl init-db --layout LAYOUT'" "$hint"
  expect 0 sh -c "$(cut -d "'" -f 2 <<<"$hint" | sed 's/LAYOUT/time:41,worker:10,sequence:12@0/')"
  contains "$(at '@2009-01-01 00:00:00' leafctl doctor)" $'layout\tok'
  case $(stat -f -c %T .) in tmpfs | ramfs) skip 'the folder for tests lies in memory' ;; esac
  memory=$(mktemp -d -p /dev/shm)
  mv leaf.db "$memory"
  hint=$(leafctl --store "sqlite:$memory/leaf.db" doctor | awk -F '\t' '$1 == "durability" { print $4 }')
  mv "$memory/leaf.db" .
  rmdir "$memory"
  same 'the hint' 'while nobody uses it, move the file to a disk, and name that in --store' "$hint"
  contains "$(leafctl doctor)" $'durability\tok'
}

@test "a store on an overlay that writes into memory" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir lower ram all
  expect 0 leafctl --store sqlite:lower/leaf.db init-db
  # shellcheck disable=SC2016 # for the other shell
  run --separate-stderr unshare --mount bash -euc 'mount -t tmpfs none ram; mkdir ram/upper ram/work
    mount -t overlay none -o "lowerdir=$PWD/lower,upperdir=$PWD/ram/upper,workdir=$PWD/ram/work" all || exit 77
    leafctl --store "sqlite:all/leaf.db" doctor'
  [ "$status" -ne 77 ] || skip 'no overlay can be mounted here'
  same 'the check' $'warning\tthe file lies in memory (overlay on tmpfs): it is gone after a restart of this host, and IDs repeat' \
    "$(awk -F '\t' -v OFS='\t' '$1 == "durability" { print $2, $3 }' <<<"$output")"
}

@test "PostgreSQL: a clock that is wrong" {
  on_postgresql
  same 'the hint' 'set both clocks right, by NTP for example; --max-skew allows more' \
    "$(at -1h leafctl doctor | awk -F '\t' '$1 == "clock" && $2 == "failed" { print $4 }')"
  same 'the hint' 'set both clocks right, by NTP for example' \
    "$(at -1h leafctl doctor --max-skew 100m | awk -F '\t' '$1 == "clock" && $2 == "warning" { print $4 }')"
  contains "$(leafctl doctor)" $'clock\tok'
}

@test "PostgreSQL: what the tables say to those who change them by hand" {
  on_postgresql
  leafctl -q workers acquire --worker-name a >lease
  run ! psql -qX -d "$test_database" -c 'DELETE FROM leaf_alloc'
  contains "$output" 'HINT:  remove a tag with leafctl tags remove'
  expect 0 leafctl tags remove order --yes
  run ! psql -qX -d "$test_database" -c 'DELETE FROM leaf_worker'
  contains "$output" 'HINT:  free a worker with leafctl workers recycle'
  expect 0 leafctl workers recycle 0 --force --yes
  run_sql 'ALTER TABLE leaf_alloc SET UNLOGGED'
  hinted 5 "find it with 'leafctl doctor', and make it durable with ALTER TABLE ... SET LOGGED" leafctl add-tag new
  run_sql 'ALTER TABLE leaf_alloc SET LOGGED'
  expect 0 leafctl add-tag new
}

@test "PostgreSQL: what the tables say to those who set workers by hand" {
  on_postgresql
  by_hand() { run psql -qX -d "$test_database" -c "$1" -c "${2:-}" -c "${3:-}"; }
  by_hand 'BEGIN ISOLATION LEVEL SERIALIZABLE' 'UPDATE leaf_meta SET last_worker = 3' 'COMMIT'
  contains "$output" "HINT:  set it with 'leafctl init-db --workers'"
  expect 0 leafctl init-db --workers 0-4
  by_hand 'ALTER TABLE leaf_meta DISABLE TRIGGER USER' "UPDATE leaf_meta SET granted_by = 'another'" \
    'ALTER TABLE leaf_meta ENABLE TRIGGER USER'
  by_hand 'UPDATE leaf_meta SET last_worker = 3'
  contains "$output" "HINT:  wait until 'leafctl failover show' says that workers are leased"
  expect 0 leafctl failover settle --no-commits-lost --yes
  expect 0 leafctl failover show
  contains "$output" $'workers\t\tleased\t'
  by_hand 'UPDATE leaf_meta SET last_worker = 3'
  same 'the last worker' 3 "$(psql -qXAt -d "$test_database" -c 'SELECT last_worker FROM leaf_meta')"
  local row="extract(epoch FROM now()) * 1000 + 9000, extract(epoch FROM now()) * 1000, 0, 0)"
  by_hand "INSERT INTO leaf_worker (worker_id, window_end, renewed_at, held_after, clock_offset) VALUES (9, $row"
  contains "$output" "HINT:  take another one; 'leafctl init-db --workers' tells a store which it leases"
  expect 0 leafctl workers acquire --worker-name a
  expect 0 leafctl init-db --workers 0-9
  expect 0 leafctl workers acquire --worker-name b --worker-id 9 --window 1h
  by_hand 'UPDATE leaf_meta SET last_worker = 3'
  contains "$output" "HINT:  wait until their windows are over: see 'leafctl workers list'"
  contains "$(leafctl workers list)" $'9\tb\theld\t'
}

@test "a store whose file system is full" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir small
  # shellcheck disable=SC2016 # for the other shell
  expect 0 unshare --mount bash -uc 'mount -t tmpfs -o size=256k none small
    export LEAFCTL_STORE=sqlite:$PWD/small/leaf.db
    leafctl -q init-db
    leafctl -q add-tag order
    head -c 256k /dev/zero >small/ballast 2>/dev/null
    leafctl next order --direct 2>&1 | grep ^hint
    leafctl doctor --exit-code | grep ^room
    echo "status ${PIPESTATUS[0]}"
    rm small/ballast
    leafctl doctor --exit-code >report
    leafctl next order --direct'
  prints $'hint: free some space there
room\tfailed\ta grant cannot write to the folder of the store: No space left on device\tfree some space there\t\t
status 1
1'
}

@test "a store whose file system has no room for its journal" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir small
  # As sqlite3 leaves it, and whoever restores it.
  # shellcheck disable=SC2016 # for the other shell
  expect 0 unshare --mount bash -uc 'mount -t tmpfs -o nr_inodes=16 none small
    export LEAFCTL_STORE=sqlite:$PWD/small/leaf.db
    leafctl -q init-db
    leafctl -q add-tag order
    mv small/leaf.db-journal .
    for i in {1..20}; do : >"small/ballast$i"; done 2>/dev/null
    leafctl next order --direct 2>&1
    echo "status $?"
    leafctl doctor --exit-code | grep ^room
    echo "status ${PIPESTATUS[0]}"
    leafctl --store "sqlite:$PWD/small/another.db" init-db 2>&1
    echo "status $?"
    rm small/ballast*
    leafctl next order --direct
    # With a journal in its place no file is missing.
    for i in {1..20}; do : >"small/ballast$i"; done 2>/dev/null
    leafctl doctor --exit-code >report
    leafctl next order --direct'
  prints "leafctl: store '$PWD/small/leaf.db' failed: its journal cannot be made: No space left on device
hint: free some space there
status 3
"$'room\tfailed\ta grant cannot write to the folder of the store: No space left on device\tfree some space there\t\t'"
status 1
leafctl: store '$PWD/small/another.db' cannot be created in its folder: No space left on device
hint: free some space there
status 3
1
2"
}

@test "a full file system that makes no unnamed files, as those of other hosts and containers" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  strace -qq -o trace true 2>/dev/null || skip 'needs strace'
  mkdir small
  # shellcheck disable=SC2016 # for the other shell
  expect 0 unshare --mount bash -uc 'mount -t tmpfs -o nr_inodes=16 none small
    export LEAFCTL_STORE=sqlite:$PWD/small/leaf.db
    without() { strace -f -qq -o trace -P "$PWD/small" -e inject=openat:error=EOPNOTSUPP leafctl "$@"; }
    leafctl -q init-db
    leafctl -q add-tag order
    rm small/leaf.db-journal
    for i in {1..20}; do : >"small/ballast$i"; done 2>/dev/null
    without next order --direct 2>&1
    without doctor --exit-code >report
    echo "status $?"
    rm small/ballast*
    without doctor --exit-code >report
    without next order --direct'
  prints "leafctl: store '$PWD/small/leaf.db' failed: its journal cannot be made: No space left on device
hint: free some space there
status 1
1"
}

@test "a store whose file system is read-only" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir fs
  # shellcheck disable=SC2016 # for the other shell
  expect 0 unshare --mount bash -uc 'mount -t tmpfs none fs
    export LEAFCTL_STORE=sqlite:$PWD/fs/leaf.db
    leafctl -q init-db
    leafctl -q add-tag order
    mount -o remount,ro fs
    leafctl next order --direct 2>&1
    echo "status $?"
    leafctl doctor | grep -c "mount it for writing"
    mount -o remount,rw fs
    leafctl next order --direct'
  prints "leafctl: store '$PWD/fs/leaf.db' cannot be written: attempt to write a readonly database
hint: its file system is read-only: find out why in the kernel's log, and mount it for writing
status 3
1
1"
}

@test "a folder of a host that is full, or that accepts no writes" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir -m 700 "$LEAFCTL_RUNTIME_DIR"
  # shellcheck disable=SC2016 # for the other shell
  run unshare --mount bash -uc 'mount -t tmpfs -o size=8k,mode=700 none "$LEAFCTL_RUNTIME_DIR"
    head -c 8192 /dev/zero >"$LEAFCTL_RUNTIME_DIR/ballast"
    leafctl next order --direct 2>&1 >ids | grep ^hint
    rm "$LEAFCTL_RUNTIME_DIR/ballast"
    leafctl next order --direct 2>&1 >ids
    mount -o remount,ro "$LEAFCTL_RUNTIME_DIR"
    leafctl next order --direct 2>&1 >ids | grep ^hint
    leafctl next order --direct --runtime-dir "$PWD/other" 2>&1 >ids'
  same 'the hints' 'hint: free some space there
hint: name another one with --runtime-dir, before anything is drawn' "$output"
}

@test "a folder of a host that cannot be made for want of room" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir small
  # shellcheck disable=SC2016 # for the other shell
  expect 0 unshare --mount bash -uc 'mount -t tmpfs -o nr_inodes=4 none small
    for i in {1..8}; do : >"small/ballast$i"; done 2>/dev/null
    leafctl next order --runtime-dir "$PWD/small/run" 2>&1
    echo "status $?"
    leafctl next order --runtime-dir "$PWD/small/run" --no-host-buffer 2>&1 | tail -n 2
    rm small/ballast*
    leafctl next order --runtime-dir "$PWD/small/run"'
  prints "leafctl: folder '$PWD/small/run' cannot be made: No space left on device
hint: make room there, or go without with --no-host-buffer
status 1
hint: make room there
1
2"
}

@test "a folder of a host that nobody may write to any more" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir -m 700 "$LEAFCTL_RUNTIME_DIR"
  # shellcheck disable=SC2016 # for the other shell
  run unshare --mount bash -uc 'mount -t tmpfs -o mode=700 none "$LEAFCTL_RUNTIME_DIR"
    leafctl next order >ids
    mount -o remount,ro "$LEAFCTL_RUNTIME_DIR"
    leafctl next order 2>&1 >ids | grep ^hint
    leafctl next order --runtime-dir "$PWD/other" 2>&1
    mount -o remount,rw "$LEAFCTL_RUNTIME_DIR"
    leafctl next order 2>&1'
  same 'the hint and the IDs' "hint: mount its file system for writing, or name another folder with --runtime-dir
1001
2" "$output"
}

@test "a folder of a host that has no room left for the record of what was granted" {
  on_sqlite
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  mkdir -m 700 "$LEAFCTL_RUNTIME_DIR"
  for what in order '--snowflake --no-host-buffer --worker-name a' '--snowflake --worker-name b'; do
    export what
    # shellcheck disable=SC2016 # for the other shell
    run unshare --mount bash -uc 'mount -t tmpfs -o size=8k,mode=700 none "$LEAFCTL_RUNTIME_DIR"
      case $what in *no-host*) head -c 4096 /dev/zero >"$LEAFCTL_RUNTIME_DIR/ballast" ;; esac
      leafctl next $what 2>&1 >ids'
    contains "$output" "it cannot detect a restored store: no file can be created in folder '$LEAFCTL_RUNTIME_DIR': its file system is full"
    contains "$output" 'hint: free some space there'
  done
}

@test "a damaged file of a store is restored, not replaced by one that begins anew" {
  on_sqlite
  local file=${LEAFCTL_STORE#sqlite:} backup=$BATS_TEST_TMPDIR/backup.db
  cp "$file" "$backup"
  leafctl next --no-host-buffer order -n 5 >/dev/null
  dd if=/dev/zero of="$file" bs=100 count=1 conv=notrunc status=none
  hinted 2 'if it ever was a store, restore it from a backup as leafctl-operations(7) says, *' leafctl next --no-host-buffer order
  cp "$backup" "$file.new" && mv "$file.new" "$file"
  leafctl -q tags update order --raise-to 6
  same 'the next' 6 "$(leafctl next --no-host-buffer order)"
  perl -e 'open(F, "+<", $ARGV[0]); seek(F, 100, 0); print F "\xff" x 3000' "$file"
  hinted 1 'restore it from a backup as leafctl-operations(7) says: raise each tag above all IDs drawn, and wait before making snowflake IDs' leafctl next --no-host-buffer order
}
