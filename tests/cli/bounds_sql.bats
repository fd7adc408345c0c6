# The condition that bounds prints, as databases understand it.
load support

setup() {
  new_store
  cd "$BATS_TEST_TMPDIR"
}
teardown() { remove_store; }

# ask SQL: what the database answers, without a head.
ask() {
  case $TEST_STORE in
    sqlite) sqlite3 asked.db "$1" ;;
    postgresql) psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1" ;;
  esac
}

# selects TABLE COLUMN NAME: a table with a column, both quoted, gives its one row where bounds calls it NAME.
selects() {
  ask "CREATE TABLE $1 ($2 bigint); INSERT INTO $1 VALUES (1541572081873846271), (1541572081873846272)"
  same "the rows by $3" 1541572081873846272 \
    "$(ask "SELECT * FROM $1 WHERE $(leafctl bounds --from 2022-06-28 --to 2022-06-29 --sql "$3")")"
  ask "DROP TABLE $1"
}

@test "the condition selects by columns of any name" {
  selects orders id id
  selects orders id orders.id
  selects orders Id Id
  selects orders '"Id"' '"Id"'
  selects '"order"' '"group"' order.group
  selects '"or.der"' '"Order ID"' '"or.der".Order ID'
  selects orders '"a""b"' 'a"b'
  selects orders '"1=1 OR id"' '1=1 OR id'
  selects orders '"größe"' größe
}

@test "the condition selects by a column that is called like any word of SQL" {
  case $TEST_STORE in
    sqlite) words='add alter all between case check collate commit column default delete drop escape exists group
      index insert isnull join limit not nothing null order primary raise select set table to transaction update
      values when where' ;;
    postgresql) words=$(psql -AtX -d "$test_database" -c 'SELECT word FROM pg_get_keywords()') ;;
  esac
  for word in $words; do
    printf 'CREATE TABLE t ("%s" bigint); SELECT count(*) FROM t WHERE %s; DROP TABLE t;\n' "$word" \
      "$(leafctl bounds --from 2022-06-28 --sql "$word")"
  done >words.sql
  case $TEST_STORE in
    sqlite) sqlite3 -bail asked.db <words.sql >counts ;;
    postgresql) psql -qAtX -v ON_ERROR_STOP=1 -d "$test_database" -f words.sql >counts ;;
  esac
  same 'the counts' 0 "$(sort -u counts)"
  same 'how many' "$(wc -w <<<"$words")" "$(wc -l <counts)"
}
