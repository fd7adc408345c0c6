# What init-db --functions installs, and how it keeps that in step with the store.
load support

setup() {
  new_store
  cd "$BATS_TEST_TMPDIR"
}
teardown() { remove_store; }

# ask SQL: what the database answers, without a head.
ask() { psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1"; }

# hinted SQL HINT: it fails with that hint.
hinted() {
  run ask "$1"
  [ "$status" -ne 0 ]
  contains "$output" "HINT:  $2"
}

@test "init-db --functions installs functions beside the tables, and says which" {
  expect 0 leafctl init-db --functions
  contains "$stderr" "installed functions in schema 'public': leaf_time, leaf_worker, leaf_sequence, leaf_id_at, leaf_bounds, leaf_next"
  leafctl -q add-tag order
  same 'drawn here and there' '1 2 3' "$(ask "SELECT leaf_next('order')") $(leafctl next order --direct) $(ask "SELECT leaf_next('order')")"
  expect 0 leafctl init-db --functions -o json
  same 'the schemas' '["public"]' "$(jq -c .functions <<<"$output")"
  expect 0 leafctl init-db -o json
  same 'nothing to renew' '[]' "$(jq -c .functions <<<"$output")"
}

@test "init-db --functions SCHEMA takes a schema that is there, whatever it is called" {
  expect 2 leafctl init-db --functions app
  says "leafctl: schema 'app' does not exist
hint: create it with CREATE SCHEMA, or name another one"
  same 'the tables' '' "$(ask "SELECT to_regclass('leaf_meta')")"
  ask "CREATE SCHEMA app; CREATE SCHEMA \"My \"\"own\"\" 'app'\""
  expect 0 leafctl init-db --functions app
  expect 0 leafctl init-db --functions "My \"own\" 'app'" -o json
  same 'the schemas' '["My \"own\" '"'app'"'"]' "$(jq -c .functions <<<"$output")"
  leafctl -q add-tag order
  same 'one after the other' '1 2' "$(ask "SELECT app.leaf_next('order')") $(ask "SELECT \"My \"\"own\"\" 'app'\".leaf_next('order')")"
  expect 2 leafctl init-db --functions app --new-deployment --yes
  contains "$stderr" "'--new-deployment' and '--functions' exclude each other"
}

@test "init-db --functions --dry-run prints SQL for somebody else to run" {
  leafctl init-db --functions --dry-run >all.sql
  expect 0 leafctl init-db --functions --dry-run -o json
  same 'the last piece' functions "$(jq -r '.name' <<<"$output" | tail -n 1)"
  same 'the tables' '' "$(ask "SELECT to_regclass('leaf_meta')")"
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -f all.sql
  leafctl -q add-tag order
  same 'the first ID' 1 "$(ask "SELECT leaf_next('order')")"
  expect 0 leafctl init-db
  lacks "$stderr" renewed
}

@test "the functions take apart what decode does" {
  leafctl -q init-db --functions --layout twitter
  leafctl next --snowflake -n 1000 >ids
  leafctl decode --layout twitter <ids | cut -f 1,3,7 >wanted
  psql -qAtX -F $'\t' -d "$test_database" -c 'CREATE TABLE ids (id bigint)' -c '\copy ids FROM ids' \
    -c "SELECT id, to_char(leaf_time(id) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), leaf_sequence(id) FROM ids ORDER BY id" >got
  diff wanted <(grep -v '^1000$' got)
  same 'the worker' 0 "$(ask 'SELECT DISTINCT leaf_worker(id) FROM ids')"
  same 'bounds' "$(leafctl bounds --from 2026-01-01 --to 2026-02-01 --layout twitter)" \
    "$(psql -qAtX -F $'\t' -d "$test_database" -c "SELECT * FROM leaf_bounds('2026-01-01Z', '2026-02-01Z')")"
}

@test "who changes the layout or the deployment gets the functions renewed" {
  leafctl -q init-db --functions
  expect 0 leafctl init-db --layout sonyflake
  contains "$stderr" "renewed the functions in schema 'public'"
  same 'as sonyflake' "$(leafctl decode --layout sonyflake 541165879411867649 -o json | jq -r .sequence)" \
    "$(ask 'SELECT leaf_sequence(541165879411867649)')"
  leafctl -q add-tag order
  expect 0 leafctl init-db --new-deployment --yes
  contains "$stderr" "renewed the functions in schema 'public'"
  same 'the first ID' 1 "$(ask "SELECT leaf_next('order')")"
}

@test "a new deployment whose functions somebody has locked says that it is made, and how they are renewed" {
  leafctl -q init-db --functions
  leafctl -q add-tag order
  former=$(leafctl init-db -o json | jq -r .deployment)
  mkfifo lock
  psql -XAtqd "$test_database" <lock >locked &
  exec 7>lock
  echo 'BEGIN; ALTER FUNCTION leaf_next(text) COST 99; SELECT 1;' >&7
  until [ -s locked ]; do :; done
  expect 3 leafctl init-db --new-deployment --yes --timeout 1s
  exec 7>&-
  wait
  local made='is deployment ([-0-9a-f]*) now, and was '
  [[ $stderr =~ $made$former ]]
  local deployment=${BASH_REMATCH[1]}
  contains "$stderr" 'leafctl: the functions for SQL are still of the former deployment: '
  contains "$stderr" "hint: renew them with 'leafctl init-db'"
  expect 0 leafctl init-db
  contains "$stderr" "renewed the functions in schema 'public'"
  same 'the deployment' "$deployment" "$(leafctl init-db -o json | jq -r .deployment)"
  same 'the first ID' 1 "$(ask "SELECT leaf_next('order')")"
}

@test "doctor names functions that the store has outgrown, and its hint mends them" {
  leafctl -q init-db --functions
  ask "CREATE SCHEMA \"my app\""
  leafctl -q init-db --functions 'my app'
  leafctl -q add-tag order
  expect 0 leafctl doctor
  lacks "$output" functions
  # As by a program that knows nothing of functions.
  ask "UPDATE leaf_meta SET layout = 'time:41,datacenter:5,worker:5,sequence:12/1ms@1288834974657'"
  run leafctl doctor
  contains "$output" "the functions in schema 'my app' take IDs apart in layout leaf, which is not the store's"
  contains "$output" "as their owner, install them again with 'leafctl init-db --functions \"my app\"'"
  leafctl -q init-db --functions 'my app'
  expect 0 leafctl doctor
  lacks "$output" functions
  ask 'UPDATE leaf_meta SET deployment = gen_random_uuid()'
  run leafctl doctor
  contains "$output" "the functions in schema 'public' are for another deployment: leaf_next draws no IDs"
  hinted "SELECT leaf_next('order')" "look which store it is; if it is the right one, install them again with 'leafctl init-db --functions'"
  leafctl -q init-db --functions
  same 'the first ID' 1 "$(ask "SELECT leaf_next('order')")"
  ask "ALTER SCHEMA public RENAME TO ids; ALTER DATABASE $test_database SET search_path = ids"
  expect 0 leafctl doctor
  contains "$output" "the functions in schema 'ids' look for the tables in a schema where they lay before: leaf_next draws no IDs"
  expect 0 leafctl init-db
  contains "$stderr" "renewed the functions in schema 'ids'"
  contains "$stderr" "renewed the functions in schema 'my app'"
  lacks "$(leafctl doctor)" functions
  same 'the second ID' 2 "$(ask "SELECT \"my app\".leaf_next('order')")"
}

@test "functions of another owner stay, and are named with what renews them" {
  leafctl -q init-db --functions
  ask "CREATE ROLE ${test_database}_role LOGIN PASSWORD 'secret'"
  ask "ALTER TABLE leaf_alloc OWNER TO ${test_database}_role; ALTER TABLE leaf_meta OWNER TO ${test_database}_role; ALTER TABLE leaf_worker OWNER TO ${test_database}_role; ALTER TABLE leaf_event OWNER TO ${test_database}_role; GRANT CREATE ON SCHEMA public TO ${test_database}_role"
  PGUSER=${test_database}_role PGPASSWORD=secret PGPASSFILE=/dev/null expect 0 leafctl init-db --layout twitter
  contains "$stderr" "the functions in schema 'public' are another role's, and stay as they were"
  contains "$stderr" "hint: as that role, run 'leafctl init-db --functions public'"
  ask "ALTER TABLE leaf_alloc OWNER TO CURRENT_USER; ALTER TABLE leaf_meta OWNER TO CURRENT_USER; ALTER TABLE leaf_worker OWNER TO CURRENT_USER; ALTER TABLE leaf_event OWNER TO CURRENT_USER; DROP OWNED BY ${test_database}_role"
  expect 0 leafctl init-db --functions public
  dropuser "${test_database}_role"
}

@test "each hint of the functions says what helps" {
  leafctl -q init-db --functions
  hinted "SELECT leaf_next('order')" "create it with 'leafctl add-tag order'"
  expect 0 leafctl add-tag order --limit 2
  hinted "SELECT leaf_next('order', 3)" "raise it with 'leafctl tags update --limit ID order'"
  expect 0 leafctl tags update --limit 3 order
  same 'three' '1 2 3' "$(ask "SELECT leaf_next('order', 3)" | xargs)"
  hinted "SELECT leaf_next('-x')" "create it with 'leafctl add-tag -- -x'"
  expect 0 leafctl add-tag -- -x
  leafctl -q add-tag last --start 9223372036854775806
  same 'the last ID' 9223372036854775806 "$(ask "SELECT leaf_next('last')")"
  hinted "SELECT leaf_next('last')" 'go on with another tag: no ID is greater'
  hinted "SELECT leaf_next('a b')" "a tag's name has 1 to 128 characters of A-Z a-z 0-9 . _ : -"
  hinted "SELECT leaf_id_at('1999-01-01')" 'its first time is 2010-11-04T01:42:54.657Z'
  hinted "SELECT leaf_id_at('2999-01-01')" 'its last time is 2080-07-10T17:30:30.208Z'
  same 'the first and the last' '0 9223372036850581504' \
    "$(ask "SELECT leaf_id_at('2010-11-04T01:42:54.657Z')") $(ask "SELECT leaf_id_at('2080-07-10T17:30:30.208Z')")"
  hinted "SELECT * FROM leaf_bounds('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.0002')" 'its times are 1ms apart; take a longer stretch'
  leafctl -q init-db --layout time:51,sequence:12/1h@0
  hinted 'SELECT leaf_time(9223372036854775807)' 'they end with 288315506687 in 9999-12-31T23:00:00.000Z'
  same 'the last one' 4095 "$(ask 'SELECT leaf_sequence(288315506687)')"
  leafctl -q init-db --layout leaf
  same 'a row' 1 "$(ask "SELECT count(*) FROM leaf_bounds('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.002')")"
}

@test "what refuses the functions names what helps" {
  leafctl -q init-db
  leafctl -q init-db --dry-run --functions >functions.sql
  leafctl -q init-db --layout twitter
  run psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -f functions.sql
  contains "$output" 'HINT:  make the functions for that one'
  leafctl -q init-db --dry-run --functions >functions.sql
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -f functions.sql
  ask "CREATE SCHEMA app; CREATE FUNCTION app.leaf_time(bigint) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'"
  expect 5 leafctl init-db --functions app
  contains "$stderr" 'there are other functions of these names: app.leaf_time(bigint)'
  contains "$stderr" 'hint: drop or rename those, or choose another schema'
  ask 'DROP FUNCTION app.leaf_time(bigint)'
  expect 0 leafctl init-db --functions app
  ask "CREATE ROLE ${test_database}_role; CREATE SCHEMA theirs; ALTER SCHEMA theirs OWNER TO ${test_database}_role"
  ask "CREATE FUNCTION theirs.leaf_time(bigint) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'; ALTER FUNCTION theirs.leaf_time OWNER TO ${test_database}_role"
  expect 5 leafctl init-db --functions theirs
  contains "$stderr" 'hint: install them as that role, or drop those, or choose another schema'
  ask 'DROP FUNCTION theirs.leaf_time'
  expect 0 leafctl init-db --functions theirs
  ask "DROP OWNED BY ${test_database}_role CASCADE; DROP ROLE ${test_database}_role"
}

@test "processes of the host's buffer and sessions of psql draw each ID once" {
  leafctl -q init-db --functions
  leafctl -q add-tag order --step 50
  for n in 1 2 3; do
    for _ in $(seq 40); do leafctl next order -n 3; done >"buffered.$n" &
    for _ in $(seq 20); do leafctl next order -n 2 --direct; done >"direct.$n" &
    for _ in $(seq 60); do printf "SELECT leaf_next('order');\nSELECT leaf_next('order', 5);\n"; done |
      psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" >"sql.$n" &
  done
  wait
  same 'how many' $((3 * (120 + 40 + 360))) "$(cat buffered.* direct.* sql.* | wc -l)"
  same 'IDs twice' '' "$(sort buffered.* direct.* sql.* | uniq -d)"
  for n in 1 2 3; do increasing "sql.$n"; done
}

@test "doctor names who may make functions beside the store's, and what they have made" {
  role=leaf_rival_$$
  ask "CREATE ROLE $role"
  leafctl -q init-db --runtime-role "$role"
  ask 'CREATE SCHEMA "my app"'
  expect 0 leafctl init-db --functions 'my app'
  lacks "$stderr" 'may create functions'
  lacks "$(leafctl doctor)" 'may create functions'
  ask "GRANT USAGE, CREATE ON SCHEMA \"my app\" TO $role"
  expect 0 leafctl init-db --functions 'my app'
  contains "$stderr" "$role may create functions beside those in schema 'my app', and have a call run them"
  expect 0 leafctl init-db --runtime-role "$role"
  contains "$stderr" "$role may create functions beside those in schema 'my app', and have a call run them"
  ask "SET ROLE $role; CREATE FUNCTION \"my app\".leaf_next(name) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'"
  told=$(leafctl doctor | awk -F '\t' '$1 == "rights" && $2 == "warning" { print $3 }')
  contains "$told" "$role may create functions beside those in schema 'my app'"
  contains "$told" "schema 'my app' has functions of the same names that are not the store's: \"my app\".leaf_next(name) of role '$role'"
  ask "$(leafctl doctor | grep 'may create functions' | cut -f 4 | cut -d "'" -f 2)"
  contains "$(leafctl doctor)" 'drop them with DROP FUNCTION'
  ask 'DROP FUNCTION "my app".leaf_next(name)'
  ask "ALTER SCHEMA \"my app\" OWNER TO $role"
  expect 0 leafctl init-db --functions 'my app'
  contains "$stderr" "$role may replace the functions in schema 'my app', which it owns"
  ask "$(leafctl doctor | grep 'may replace the functions' | cut -f 4 | cut -d "'" -f 2)"
  lacks "$(leafctl doctor)" $'rights\twarning'
  ask "DROP OWNED BY $role; DROP ROLE $role"
}

@test "settings of a database change nothing about functions" {
  ask "ALTER DATABASE $test_database SET quote_all_identifiers = on"
  ask "ALTER DATABASE $test_database SET standard_conforming_strings = off"
  ask "ALTER DATABASE $test_database SET plpgsql.extra_errors = 'all'"
  expect 0 leafctl init-db --functions
  contains "$stderr" "installed functions in schema 'public'"
  expect 0 leafctl init-db --layout discord
  contains "$stderr" "renewed the functions in schema 'public'"
  expect 0 leafctl add-tag order
  same 'the first ID' 1 "$(ask "SELECT leaf_next('order')")"
  id=$(leafctl next --snowflake)
  same 'the time' "$(leafctl decode --layout discord -o json "$id" | jq .unix_ms)" "$(ask "SELECT floor(extract(epoch FROM leaf_time($id)) * 1000)::bigint")"
  lacks "$(leafctl doctor)" 'functions'
}
