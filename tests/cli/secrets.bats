load support

setup() {
  new_store
  export LEAFCTL_TIMEOUT=300ms
}
teardown() { remove_store; }

# No server answers on this port.
url='postgresql://leaf:s3cret@127.0.0.1:1/ids?connect_timeout=2'
pairs='host=127.0.0.1 port=1 user=leaf dbname=ids password=s3cret'

@test "a password is never printed, whatever goes wrong" {
  for store in "$url" "$pairs" 'postgresql://leaf@127.0.0.1:1/ids?password=s3cret' "host=127.0.0.1 port=1 password = 's3cret'" \
    'postgresql://leaf:s3cret@127.0.0.1:port/ids' 'postgresql://leaf:#s3cret?@127.0.0.1:1/ids' \
    'postgresql://leaf:a/s3cret@127.0.0.1:1/ids' 'mysql://leaf:s3cret@db/ids' "$pairs&s3cret" \
    'host=127.0.0.1 port=1 password=a s3cret' 'host=127.0.0.1;port=1;password=s3cret' \
    'postgresql://127.0.0.1:1/ids?pass%77ord=s3cre%74' 'postgresql://127.0.0.1:1/ids?password=a&s3cret' \
    'postgresql://leaf:%zzs3cret@127.0.0.1:1/ids' 'postgresql://leaf:s3cret/ids'; do
    for command in 'next order' 'tags list -o json' init-db 'init-db --dry-run' show-config 'show-config -o json'; do
      run leafctl -v --timeout 0 --store "$store" $command
      contains "$output" 'keep it in a file that PGPASSFILE names'
      lacks "$output" s3cret
      LEAFCTL_STORE=$store run leafctl -v --timeout 10ms $command
      contains "$output" '(LEAFCTL_STORE)'
      lacks "$output" s3cret
    done
  done
}

@test "a store is shown without its password, and with all else" {
  export LEAFCTL_STORE=$url
  contains "$(leafctl show-config)" 'postgresql://leaf'
  contains "$(leafctl show-config)" '@127.0.0.1:1/ids'
}

@test "a store that differs in its database alone is shown so, whatever stands behind" {
  for name in shop billing; do
    expect 0 leafctl show-config --store "postgresql://h:5432/$name?application_name=leaf@web1"
    contains "$output" "postgresql://h:5432/$name?application_name=leaf@web1"
    says ''
  done
}

@test "a malformed store is told of by what is wrong, and where an '@' is too much" {
  LEAFCTL_STORE='postgresql://leaf:%zzs3cret@127.0.0.1:1/ids' expect 2 leafctl tags list
  contains "$stderr" "'postgresql://leaf:***@127.0.0.1:1/ids'"
  contains "$stderr" "malformed: a '%' is not followed by two hexadecimal digits"
  LEAFCTL_STORE='host=127.0.0.1 password=a s3cret' expect 2 leafctl tags list
  contains "$stderr" "malformed: a keyword is not followed by '='"
  LEAFCTL_STORE='postgresql://leaf:a/s3cret@127.0.0.1:1/ids' expect 2 leafctl tags list
  contains "$stderr" "store 'postgresql://leaf:***@127.0.0.1:1/ids' has an '@' where none is expected"
  contains "$stderr" '%2F'
}

@test "a store in the place of something else is shown without its password" {
  for line in "next order $url" "$url" "tags $url" "next order --stroe=$url"; do
    expect 2 leafctl $line
    lacks "$stderr" s3cret
  done
}

@test "a password in an argument draws a warning that names PGPASSFILE, elsewhere none" {
  expect 0 leafctl show-config --store "$url"
  contains "$stderr" "warning: the password in '--store' can be seen by other users of this machine"
  contains "$stderr" PGPASSFILE
  expect 0 leafctl -q show-config --store "$url"
  says ''
  LEAFCTL_STORE=$url expect 0 leafctl show-config
  says ''
  expect 0 leafctl show-config --store postgresql://leaf@db/ids
  says ''
}

@test "a configuration file with a password is refused unless it is the user's alone" {
  printf 'store: %s\n' "$url" >"$BATS_TEST_TMPDIR/leafctl.yaml"
  for mode in 644 640 604 660; do
    chmod "$mode" "$BATS_TEST_TMPDIR/leafctl.yaml"
    expect 2 leafctl --config "$BATS_TEST_TMPDIR/leafctl.yaml" show-config
    contains "$stderr" 'holds a password and is open to other users'
    contains "$stderr" "chmod 600 $BATS_TEST_TMPDIR/leafctl.yaml"
    lacks "$stderr" s3cret
  done
  chmod 666 "$BATS_TEST_TMPDIR/leafctl.yaml"
  expect 2 leafctl --config "$BATS_TEST_TMPDIR/leafctl.yaml" show-config
  contains "$stderr" 'can be changed by every user'
  lacks "$stderr" s3cret
  chmod 600 "$BATS_TEST_TMPDIR/leafctl.yaml"
  expect 0 leafctl --config "$BATS_TEST_TMPDIR/leafctl.yaml" show-config
}
