# Leaf's own table in a real server of MySQL's kind, filled as Leaf fills it, moves over.
load support

# Leaf's table as its README makes it.
leaf_schema="CREATE DATABASE leaf; USE leaf;
CREATE TABLE leaf_alloc (
  biz_tag varchar(128) NOT NULL DEFAULT '',
  max_id bigint(20) NOT NULL DEFAULT '1',
  step int(11) NOT NULL,
  description varchar(256) DEFAULT NULL,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (biz_tag)
) ENGINE=InnoDB;
INSERT INTO leaf_alloc (biz_tag, max_id, step, description)
VALUES ('leaf-segment-test', 1, 2000, 'Test leaf Segment Mode Get Id'), ('order', 1, 100, NULL),
  ('quoted', 1, 10, 'a \"b\", c\\\\d\\te\\nf');"

setup_file() {
  MYSQL=$(mktemp -d /tmp/leaf-mysql-XXXXXX)
  export MYSQL
  mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --user="$(id -un)" \
    --datadir="$MYSQL/data" >"$MYSQL/install" 2>&1
  mariadbd --no-defaults --user="$(id -un)" --datadir="$MYSQL/data" --socket="$MYSQL/socket" --skip-networking \
    --pid-file="$MYSQL/pid" >"$MYSQL/log" 2>&1 3>&- &
  until sql -e 'SELECT 1' >"$MYSQL/ready" 2>&1; do kill -0 $! || { cat "$MYSQL/log"; return 1; }; done
  sql <<<"$leaf_schema"
}

teardown_file() {
  sql -e SHUTDOWN
  rm -rf "$MYSQL"
}

setup() { new_initialized_store; }
teardown() { remove_store; }

sql() { mariadb --no-defaults --socket="$MYSQL/socket" --user=root "$@"; }

# The last ID of the segment that Leaf's transaction takes.
leaf_takes_segment() {
  sql -BN leaf -e "BEGIN; UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = '$1';
    SELECT max_id - 1 FROM leaf_alloc WHERE biz_tag = '$1'; COMMIT"
}

@test "what 'mysql -B' prints of Leaf's table is imported, and the next ID is higher than every ID it gave out" {
  # A rehearsal, after which Leaf goes on.
  expect 0 leafctl tags import - < <(sql -B leaf -e 'SELECT * FROM leaf_alloc')
  for ((i = 0; i < 20; ++i)); do last=$(leaf_takes_segment leaf-segment-test); done
  [ "$last" -ge 40000 ]
  expect 0 leafctl tags import - < <(sql -B leaf -e 'SELECT * FROM leaf_alloc')
  contains "$stderr" "raised tag 'leaf-segment-test': next ID $((last + 1)), step 2000"
  same 'the next ID' $((last + 1)) "$(leafctl next leaf-segment-test)"
  same 'the first ID of a tag that gave out none' 1 "$(leafctl next order)"
  same 'the description' $'a "b", c\\d\te\nf' "$(leafctl tags show quoted -o json | jq -r .description)"
}

@test "what SELECT ... INTO OUTFILE writes of Leaf's table is imported, with tabs and with commas" {
  for fields in '' "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'"; do
    last=$(leaf_takes_segment order)
    file=$MYSQL/${#fields}
    sql leaf -e "SELECT * FROM leaf_alloc INTO OUTFILE '$file' $fields"
    expect 0 leafctl tags import "$file"
    same 'the next ID' $((last + 1)) "$(leafctl next order --direct)"
    leafctl -q tags remove quoted --yes
    expect 0 leafctl tags import "$file"
    same 'the description' $'a "b", c\\d\te\nf' "$(leafctl tags show quoted -o json | jq -r .description)"
  done
}
