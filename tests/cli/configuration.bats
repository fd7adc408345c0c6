load support

setup() {
  new_initialized_store
  mkdir -p "$HOME/.config/leafctl"
  file=$HOME/.config/leafctl/leafctl.yaml
}
teardown() { remove_store; }

origin() { leafctl show-config "$@" | awk -F '\t' -v key=timeout '$1 == key { print $2, $3 }'; }

@test "show-config prints each value with its origin, by precedence" {
  same 'nothing set' '5s default' "$(origin)"
  printf '# mine\ntimeout: 2s\n' >"$file"
  same 'the file' "2s $file:2" "$(origin)"
  export LEAFCTL_TIMEOUT=3s
  same 'the variable' '3s LEAFCTL_TIMEOUT' "$(origin)"
  same 'the flag' '4s --timeout' "$(origin --timeout 4s)"
}

@test "show-config -o json prints an object for each setting" {
  expect 0 leafctl show-config -o json
  same 'the keys' 'store timeout output color layout worker_name worker_id window max_skew max_backward recycle_after runtime_dir host_buffer group' \
    "$(jq -r .key <<<"$output" | xargs)"
  same 'no value' null "$(jq 'select(.key == "layout").value' <<<"$output")"
  same 'an origin' LEAFCTL_STORE "$(jq -r 'select(.key == "store").origin' <<<"$output")"
}

@test "--config and LEAFCTL_CONFIG name the file, which has to be there" {
  echo 'timeout: 6s' >"$BATS_TEST_TMPDIR/other.yaml"
  echo 'timeout: 2s' >"$file"
  same 'the flag' "6s $BATS_TEST_TMPDIR/other.yaml:1" "$(origin --config "$BATS_TEST_TMPDIR/other.yaml")"
  same 'the variable' "6s $BATS_TEST_TMPDIR/other.yaml:1" "$(LEAFCTL_CONFIG=$BATS_TEST_TMPDIR/other.yaml origin)"
  same 'a pipe' 7s "$(origin --config <(echo 'timeout: 7s') | cut -d ' ' -f 1)"
  expect 2 leafctl tags list --config "$BATS_TEST_TMPDIR/none.yaml"
  says "leafctl: configuration file '$BATS_TEST_TMPDIR/none.yaml' does not exist"
}

@test "the store can come from the file" {
  echo "store: $LEAFCTL_STORE" >"$file"
  leafctl -q add-tag order
  unset LEAFCTL_STORE
  same 'an ID' 1 "$(leafctl next order)"
}

@test "an unknown key is refused with its line and the nearest known one" {
  printf 'timeout: 2s\nstoer: x\n' >"$file"
  expect 2 leafctl tags list
  says "leafctl: $file:2: unknown key 'stoer'
hint: did you mean 'store'?"
}

@test "a wrong type or value is refused with its line" {
  printf 'output: [text]\n' >"$file"
  expect 2 leafctl tags list
  contains "$stderr" "leafctl: $file:1: 'output' takes one value"
  printf '\n\ntimeout: 5\n' >"$file"
  expect 2 leafctl tags list
  contains "$stderr" "leafctl: $file:3: 'timeout' takes a duration from 0ms to 24h, not '5'"
  printf 'color: [auto\n' >"$file"
  expect 2 leafctl tags list
  contains "$stderr" "not valid YAML"
}

@test "a variable with a wrong value is named" {
  LEAFCTL_OUTPUT=xml expect 2 leafctl tags list
  says "leafctl: 'LEAFCTL_OUTPUT' takes text or json, not 'xml'"
}

@test "init-db makes the folder of the default store for the user alone" {
  unset LEAFCTL_STORE
  if [ "$(id -u)" -eq 0 ]; then
    # Root's default is not in its home, so an ordinary user has to try.
    as_nobody=$(mktemp -d)
    cp -r "$(dirname "$(command -v leafctl)")/../lib" "$as_nobody"
    cp "$(command -v leafctl)" "$as_nobody"
    chown -R nobody "$as_nobody"
    run setpriv --reuid=nobody --clear-groups env HOME="$as_nobody/home" LD_LIBRARY_PATH="$as_nobody/lib" \
      sh -c 'umask 0; mkdir "$HOME"; "$1" init-db; stat -c %a "$HOME/.local" "$HOME/.local/state/leafctl"' \
      sh "$as_nobody/leafctl"
    rm -r "$as_nobody"
  else
    run sh -c 'umask 0; leafctl init-db; stat -c %a "$HOME/.local" "$HOME/.local/state/leafctl"'
  fi
  [ "$status" -eq 0 ]
  contains "$output" '/.local/state/leafctl/leaf.db'
  same 'the modes' '700 700' "$(tail -n 2 <<<"$output" | xargs)"
}

@test "a system file that a user may not read stops what needs the store, unless it is named, and nothing else" {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip 'needs leave to mount'
  setpriv --reuid=65501 --clear-groups leafctl --version >/dev/null || skip 'other users cannot run the program'
  unset LEAFCTL_STORE
  cat >"$BATS_TEST_TMPDIR/run" <<'EOF'
mount -t tmpfs none /etc
mkdir -m 755 /etc/leafctl
echo 'store: sqlite:/none' >/etc/leafctl/leafctl.yaml
chmod 600 /etc/leafctl/leafctl.yaml
eval "${mend:-}"
cd /
exec setpriv --reuid=65501 --clear-groups env -u XDG_CONFIG_HOME HOME=/none "$@"
EOF
  as_other() { unshare --mount bash -eu "$BATS_TEST_TMPDIR/run" leafctl "$@"; }
  said="configuration file '/etc/leafctl/leafctl.yaml' is not readable by this user
hint: have root run 'chmod 644 /etc/leafctl/leafctl.yaml', after moving a password in it to a file that PGPASSFILE names; or name the store in 'LEAFCTL_STORE'"
  expect 0 as_other decode 1541815603606036480 --layout twitter
  contains "$output" '2022-06-28'
  says "leafctl: warning: $said"
  expect 2 as_other tags list
  says "leafctl: $said"
  expect 2 as_other tags list --store sqlite:/none/leaf.db
  contains "$stderr" "leafctl: warning: $said"
  contains "$stderr" "leafctl: store '/none/leaf.db' does not exist"
  expect 0 as_other tags list --help
  # What root is to run: the store of the file is used then.
  mend=$(cut -d "'" -f 2 <<<"${said#*hint: }") expect 2 as_other tags list
  says "leafctl: store '/none' does not exist
hint: create it with 'leafctl init-db'"
}

@test "a named pipe and a file that every user may write are refused, not waited for and not believed" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  expect 2 timeout 10 leafctl tags list --config "$BATS_TEST_TMPDIR/pipe"
  says "leafctl: configuration file '$BATS_TEST_TMPDIR/pipe' is a named pipe
hint: name a file"
  echo 'timeout: 2s' >"$file"
  chmod 666 "$file"
  expect 2 leafctl tags list
  contains "$stderr" "hint: see whether it still says what it should, then run 'chmod o-w $file'"
  sh -c "$(sed -n "s/^hint: .*'\(chmod .*\)'$/\1/p" <<<"$stderr")"
  expect 0 leafctl tags list
}

@test "a host whose name is as long as it can be is called that, and one that is no owner localhost" {
  unshare --uts true 2>/dev/null || skip 'needs leave to name a host'
  local longest name
  longest=$(printf 'a%.0s' {1..64})
  for name in "$longest" 'a b'; do
    # shellcheck disable=SC2016 # expanded by the inner shell
    expect 0 unshare --uts bash -euc 'printf %s "$1" >/proc/sys/kernel/hostname; leafctl show-config -o json' inner "$name"
    local expected=$name
    [ "$name" = "$longest" ] || expected=localhost
    same 'the owner' "$expected" "$(jq -r 'select(.key == "worker_name").value' <<<"$output")"
  done
}
