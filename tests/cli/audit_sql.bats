# leafctl audit --sql, in a database.
load support
load audit_support

setup() {
  new_store
  cd "$BATS_TEST_TMPDIR"
}
teardown() {
  remove_store
  if [ -n "${role:-}" ]; then dropuser "$role"; fi
}

@test "audit --sql: the rows of a query are read, and nothing is changed" {
  url=postgresql:///$test_database
  psql -qd "$test_database" -c 'CREATE TABLE orders (id bigint)' \
    -c 'INSERT INTO orders SELECT i FROM generate_series(1, 200000) i' -c 'INSERT INTO orders VALUES (777), (NULL)'
  expect 1 leafctl audit --sql 'SELECT id FROM orders;' --dsn "$url"
  same count 200001 "$(measure ids count)"
  same repeat 777 "$(found repeat 4)"
  same null "leafctl: row 200002: '\\N' is not an ID" "${stderr_lines[0]}"
  PGDATABASE=$test_database expect 0 leafctl audit --sql 'SELECT DISTINCT id FROM orders WHERE id > 0 -- all'
  same count 200000 "$(measure ids count)"
  expect 2 leafctl audit --sql 'SELECT id, 1 FROM orders' --dsn "$url"
  says 'leafctl: the query gives 2 columns, not one'
  expect 2 leafctl audit --sql 'SELECT id FROM order' --dsn "$url"
  contains "$stderr" 'leafctl: the query failed: syntax error'
  expect 2 leafctl audit --sql 'DELETE FROM orders RETURNING id' --dsn "$url"
  contains "$stderr" 'in a read-only transaction'
  psql -qd "$test_database" -c 'CREATE SEQUENCE s'
  expect 2 leafctl audit --sql "SELECT nextval('s')" --dsn "$url"
  expect 1 leafctl audit --sql 'SELECT 1 / (3 - i) FROM generate_series(1, 3) i' --dsn "$url"
  contains "$stderr" 'leafctl: the query failed: division by zero'
  expect 3 leafctl audit --sql 'SELECT 1' --dsn 'host=127.0.0.1 port=1'
  expect 2 leafctl audit --sql 'SELECT id INTO copied FROM orders' --dsn "$url"
  contains "$stderr" 'SELECT INTO'
  expect 2 leafctl audit --sql "SELECT 1 WHERE has_database_privilege('no_such_database', 'CONNECT')" --dsn "$url"
  expect 0 leafctl audit --sql $'SELECT DISTINCT id FROM orders WHERE id > 0 ; \t\r\n' --dsn "$url"
  same count 200000 "$(measure ids count)"
}

@test "audit --sql: what ends a query halfway is no end of its rows" {
  url=postgresql:///$test_database
  local halfway='SELECT CASE WHEN i < 150000 THEN i ELSE %s END FROM generate_series(1, 200000) i'
  # shellcheck disable=SC2059
  for sql in "$(printf "$halfway" 'length(pg_sleep(60)::text)')" 'SELECT pg_sleep(60)'; do
    expect 3 leafctl audit --sql "$sql" --dsn "$url?options=-c%20statement_timeout%3D100ms"
    contains "$stderr" 'leafctl: the query failed: canceling statement due to statement timeout'
  done
  # shellcheck disable=SC2059
  for sql in "$(printf "$halfway" 'pg_terminate_backend(pg_backend_pid())::int')" 'SELECT pg_terminate_backend(pg_backend_pid())'; do
    expect 3 leafctl audit --sql "$sql" --dsn "$url"
    contains "$stderr" 'terminating connection'
  done
}

@test "audit --sql: a password in the URL is warned of" {
  role=${test_database}_role
  psql -qd "$test_database" -c "CREATE ROLE $role LOGIN PASSWORD 'secret'"
  url="host=localhost dbname=$test_database user=$role"
  expect 0 env -u PGPASSWORD leafctl audit --sql 'SELECT 1' --dsn "$url password=secret"
  same warning "leafctl: warning: the password in '--dsn' can be seen by other users of this machine" "${stderr_lines[0]}"
  same hint 'hint: keep it in a file that PGPASSFILE names' "${stderr_lines[1]}"
  install -m 600 /dev/null pgpass
  echo "*:*:*:$role:secret" >pgpass
  PGPASSFILE=$PWD/pgpass expect 0 env -u PGPASSWORD leafctl audit --sql 'SELECT 1' --dsn "$url"
  says ''
}
