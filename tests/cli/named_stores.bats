load support
load host_support

setup() {
  new_initialized_store
  mkdir -p "$HOME/.config/leafctl"
  file=$HOME/.config/leafctl/leafctl.yaml
  users=sqlite:$BATS_TEST_TMPDIR/users.db
  leafctl -q --store "$users" init-db
  leafctl -q --store "$users" add-tag user
  leafctl -q add-tag order
  printf 'stores:\n  orders: "%s"\n  users: "%s"\n' "$LEAFCTL_STORE" "$users" >"$file"
  unset LEAFCTL_STORE
}
teardown() { end_host_test; }

@test "hints lead to the store and the folder that the line named" {
  expect 4 leafctl --store users --runtime-dir "$BATS_TEST_TMPDIR/a folder" next bill
  contains "$stderr" "'leafctl --store users --runtime-dir \"$BATS_TEST_TMPDIR/a folder\" add-tag bill'"
  expect 2 leafctl --store 'postgresql://a:secret@127.0.0.1:1/ids' --no-such-option next order
  lacks "$stderr" 'secret@'
}

@test "a store is named by option, variable and file" {
  same 'by option' order "$(leafctl --store orders tags list | cut -f 1)"
  same 'by variable' user "$(LEAFCTL_STORE=users leafctl tags list | cut -f 1)"
  same 'a URL goes on' user "$(leafctl --store "$users" tags list | cut -f 1)"
  echo 'store: users' >>"$file"
  same 'by file' user "$(leafctl tags list | cut -f 1)"
  same 'an ID' 1 "$(leafctl next user)"
  same 'from the same buffer' 2 "$(leafctl --store "$users" next user)"
}

@test "show-config tells which store a name stands for, and all that have names" {
  same 'which' "$users"$'\t'"--store, 'users' in $file:3" \
    "$(leafctl show-config --store users | awk -F '\t' -v OFS='\t' '$1 == "store" { print $2, $3 }')"
  same 'the names' "stores.users"$'\t'"$users"$'\t'"$file:3" "$(leafctl show-config | grep '^stores.users')"
}

@test "an unknown name is told the one that was meant, or all of them" {
  expect 2 leafctl --store order tags list
  says $'leafctl: there is no store \'order\' in the configuration\nhint: did you mean \'orders\'?'
  expect 2 leafctl --store zzz tags list
  says $'leafctl: there is no store \'zzz\' in the configuration\nhint: the configuration names orders, users'
  rm "$file"
  expect 2 leafctl --store zzz tags list
  contains "$stderr" sqlite:
}

@test "stores that are written wrongly are named with their line" {
  local wrong
  for wrong in 'stores: sqlite:x' 'stores: [a, b]' $'stores:\n  "a b": sqlite:x' $'stores:\n  a: [x]' $'stores:\n  a: ""' \
    $'stores:\n  a: b' $'stores:\n  a: sqlite:x\n  a: sqlite:y'; do
    echo "$wrong" >"$file"
    expect 2 leafctl show-config
    contains "$stderr" "$file:"
  done
}

@test "a password among the stores is hidden, and its file closed to others" {
  printf 'stores:\n  orders: postgresql://me:secret@127.0.0.1:1/ids\n' >"$file"
  expect 2 leafctl show-config
  contains "$stderr" 'holds a password and is open to other users'
  chmod 600 "$file"
  expect 0 leafctl show-config
  contains "$output" 'stores.orders'
  lacks "$output$(leafctl complete -- --store '')$(leafctl show-config --store orders)" secret
}

@test "names of stores are completed, and taken by status --forget" {
  contains "$(leafctl complete -- --store '' | cut -f 1)" $'orders\nusers'
  leafctl --store users next user >"$BATS_TEST_TMPDIR/ids"
  expect 0 leafctl status --forget users
  says 'discarded 1 buffer'
}
