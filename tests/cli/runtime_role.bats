load support

setup() {
  new_store
  role=${test_database}_role
  psql -qX -d "$test_database" -c "CREATE ROLE $role LOGIN PASSWORD 'secret'"
}
teardown() {
  remove_store
  if [ -n "${role:-}" ]; then dropuser "$role"; fi
}

# as_role COMMAND...: what a program does that logs in as the runtime role.
as_role() { PGUSER=$role PGPASSWORD=secret PGPASSFILE=/dev/null "$@"; }

# refused SQL: the server does not let the role do it.
refused() {
  run as_role psql -AtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1"
  if [ "$status" -eq 0 ]; then
    printf 'the role could: %s\n' "$1"
    return 1
  fi
  contains "$output" "$2"
}

@test "a runtime role draws IDs and leases workers" {
  leafctl -q init-db
  leafctl -q add-tag order
  expect 0 leafctl init-db --runtime-role "$role" -o json
  same 'the role' "$role" "$(jq -r .runtime_role <<<"$output")"
  contains "$stderr" "role '$role' may draw IDs and lease workers, and no more"
  same 'IDs' '1 2' "$(as_role leafctl next order -n 2 | xargs)"
  as_role leafctl next --snowflake -n 5000 >"$BATS_TEST_TMPDIR/ids"
  increasing "$BATS_TEST_TMPDIR/ids"
  as_role leafctl -q workers acquire --worker-name web --worker-id 5 >"$BATS_TEST_TMPDIR/lease"
  as_role leafctl -q workers release 5 --worker-name web
  as_role leafctl -q workers acquire --worker-name web >"$BATS_TEST_TMPDIR/lease"
  as_role leafctl -q workers recycle --recycle-after 0s
  expect 0 as_role leafctl workers list
  expect 0 as_role leafctl tags show order
  expect 4 as_role leafctl next missing
}

@test "a runtime role cannot administer, by leafctl or by SQL" {
  leafctl -q init-db
  leafctl -q add-tag order
  leafctl -q next order --direct -n 100 >"$BATS_TEST_TMPDIR/ids"
  psql -qX -d "$test_database" -c 'CREATE TABLE customers (name text)'
  leafctl -q init-db --runtime-role "$role"
  for command in 'add-tag user' 'tags update order --step 5' 'tags remove order --yes' 'tags update order --limit 500' \
    'tags update order --description x' 'init-db --layout twitter' 'init-db --workers 0-511' \
    'init-db --new-deployment --yes'; do
    expect 2 as_role leafctl $command
    contains "$stderr" 'permission denied'
  done
  denied='permission denied'
  refused 'UPDATE leaf_alloc SET step = 1' "$denied"
  refused 'UPDATE leaf_alloc SET removed_at = NULL, id_limit = NULL' "$denied"
  refused "UPDATE leaf_alloc SET biz_tag = 'x'" "$denied"
  refused 'UPDATE leaf_alloc SET max_id = 1' 'max_id may not go back'
  refused "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('x', 1)" "$denied"
  refused "UPDATE leaf_meta SET layout = 'x'" "$denied"
  refused 'UPDATE leaf_meta SET schema_version = 1' "$denied"
  refused 'UPDATE leaf_meta SET first_worker = 1' "$denied"
  refused 'UPDATE leaf_meta SET last_worker = NULL' "$denied"
  refused 'UPDATE leaf_meta SET deployment = gen_random_uuid()' "$denied"
  for table in leaf_alloc leaf_worker leaf_meta; do
    refused "DELETE FROM $table" "$denied"
    refused "TRUNCATE $table" "$denied"
    refused "DROP TABLE $table" 'must be owner'
    refused "ALTER TABLE $table DISABLE TRIGGER ALL" 'must be owner'
    refused "CREATE TRIGGER t BEFORE UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION leaf_alloc_refuse()" "$denied"
  done
  as_role leafctl -q workers acquire --worker-name web >"$BATS_TEST_TMPDIR/lease"
  refused 'UPDATE leaf_worker SET window_end = 0' 'nor its window go back'
  refused 'UPDATE leaf_worker SET worker_id = 9' "$denied"
  refused 'UPDATE leaf_meta SET next_worker = next_worker + 1' 'next_worker goes on only when worker 1 is taken'
  refused 'SELECT * FROM customers' "$denied"
  refused 'CREATE TABLE own (x integer)' "$denied"
  same 'the tag' $'order\t101\t1000' "$(leafctl tags list | cut -f 1-3)"
}

@test "what the role had beyond its needs is revoked, and what cannot be is an error" {
  leafctl -q init-db
  psql -qX -d "$test_database" -c "GRANT ALL ON leaf_alloc, leaf_worker, leaf_meta TO $role"
  leafctl -q init-db --runtime-role "$role"
  refused 'UPDATE leaf_alloc SET step = 1' 'permission denied'
  psql -qX -d "$test_database" -c 'GRANT DELETE, UPDATE (step) ON leaf_alloc TO PUBLIC'
  expect 5 leafctl init-db --runtime-role "$role"
  contains "$stderr" "leafctl: role '$role' can do more than it needs: DELETE on leaf_alloc, UPDATE of leaf_alloc.step"
  contains "$stderr" 'hint: revoke that from PUBLIC and from the roles that it is a member of'
}

@test "a role that does not exist or that owns the tables is refused, and the owner keeps its rights" {
  expect 2 leafctl init-db --runtime-role no_such_role
  contains "$stderr" "leafctl: role 'no_such_role' does not exist"
  contains "$stderr" 'hint: create it with'
  expect 2 leafctl tags list
  contains "$stderr" 'the store has no tables yet'
  leafctl -q init-db
  owner=$(psql -AtX -d "$test_database" -c 'SELECT current_user')
  expect 2 leafctl init-db --runtime-role "$owner"
  contains "$stderr" "leafctl: role '$owner' owns the store's tables"
  expect 0 leafctl add-tag order
  for name in '' public "$(printf 'x%.0s' {1..64})"; do
    expect 2 leafctl init-db --runtime-role "$name"
  done
}

@test "a role's name is quoted" {
  odd="a\"b'c; DROP TABLE leaf_alloc"
  psql -qX -d "$test_database" -v name="$odd" <<<'CREATE ROLE :"name" LOGIN'
  ended=0
  leafctl -q init-db --runtime-role "$odd" || ended=$?
  same 'its rights' t "$(psql -AtX -d "$test_database" -v name="$odd" \
    <<<"SELECT has_column_privilege(:'name', 'leaf_alloc', 'max_id', 'UPDATE')")"
  psql -qX -d "$test_database" -v name="$odd" <<<'DROP OWNED BY :"name"; DROP ROLE :"name"'
  same 'the status' 0 "$ended"
}

@test "--dry-run prints the GRANTs, and they do what init-db does" {
  expect 0 leafctl init-db --dry-run --runtime-role "$role"
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" <<<"$output"
  expect 0 leafctl init-db
  contains "$stderr" 'up to date: '
  leafctl -q add-tag order
  same 'the ID' 1 "$(as_role leafctl next order)"
  expect 2 as_role leafctl tags update order --step 5
  expect 0 leafctl init-db --dry-run --runtime-role "$role"
  contains "$output" "GRANT SELECT ON public.leaf_alloc, public.leaf_worker, public.leaf_meta TO \"$role\";"
  expect 0 leafctl init-db --dry-run --runtime-role "$role" -o json
  same 'the pieces' 'null runtime_role' "$(jq -r '"\(.number) \(.name)"' <<<"$output")"
}

@test "the role gets into a database and a schema that are closed to others" {
  psql -qX -d "$test_database" -c "REVOKE ALL ON DATABASE $test_database FROM PUBLIC" \
    -c 'CREATE SCHEMA "Own Ids"' -c "ALTER DATABASE $test_database SET search_path = \"Own Ids\""
  leafctl -q init-db --runtime-role "$role"
  leafctl -q add-tag order
  same 'the ID' 1 "$(as_role leafctl next order)"
  refused 'CREATE TABLE own (x integer)' 'permission denied'
}

@test "init-db shows what another role made in its way, and takes it over when told" {
  psql -qX -d "$test_database" -c "GRANT CREATE ON SCHEMA public TO $role"
  as_role psql -qX -d "$test_database" -c 'CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step integer)' \
    -c "INSERT INTO leaf_alloc VALUES ('order', 700, 10)"
  expect 5 leafctl init-db
  contains "$stderr" "whoever changes the tables would run the code of another role: table public.leaf_alloc of role '$role'"
  contains "$stderr" "hint: do this as the role that owns them; or take them over with 'leafctl init-db --adopt'"
  expect 0 leafctl init-db --adopt --dry-run
  contains "$output" 'ALTER TABLE public.leaf_alloc OWNER TO CURRENT_USER;'
  expect 2 leafctl init-db --adopt
  contains "$stderr" 'taking over 1 object of other roles needs confirmation'
  contains "$stderr" "table public.leaf_alloc of role '$role': ALTER TABLE public.leaf_alloc OWNER TO CURRENT_USER"
  expect 0 leafctl init-db --adopt --yes -o json
  same 'what was run' 'ALTER TABLE public.leaf_alloc OWNER TO CURRENT_USER' "$(jq -r '.adopted[]' <<<"$output")"
  same 'the ID' 700 "$(leafctl next order)"
  expect 0 leafctl init-db --runtime-role "$role"
  contains "$stderr" "$role may create objects beside the tables, in schema public"
  expect 0 leafctl doctor
  contains "$output" "REVOKE CREATE ON SCHEMA public FROM $role"
  psql -qX -d "$test_database" -c "REVOKE CREATE ON SCHEMA public FROM $role"
}

@test "a runtime role is told that only the owner may do what it may not" {
  leafctl -q init-db
  leafctl -q add-tag order
  leafctl -q init-db --runtime-role "$role"
  for command in log 'failover settle' 'add-tag bill' 'tags update order --step 5' 'tags remove order --yes' \
    'init-db --guard-steps 5'; do
    expect 2 as_role leafctl $command
    contains "$stderr" 'permission denied'
    contains "$stderr" 'hint: log in as the owner of the tables: a runtime role can only draw IDs and lease workers'
  done
  # One without any right may become a runtime role.
  psql -qX -d "$test_database" -c "REVOKE ALL ON leaf_alloc, leaf_worker FROM $role"
  expect 2 as_role leafctl next order --direct
  contains "$stderr" "'leafctl init-db --runtime-role ROLE'"
}
