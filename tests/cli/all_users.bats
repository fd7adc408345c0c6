load support
load host_support

setup() {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  new_initialized_store
  user=$((60000 + $$ % 5000))
  as_user() { setpriv --reuid $user --clear-groups env -u LEAFCTL_RUNTIME_DIR "$(command -v leafctl)" "$@"; }
  as_user --version >/dev/null || skip 'other users cannot run the program'
  chmod 777 "$BATS_TEST_TMPDIR" "$HOME"
  chmod 755 "$BATS_RUN_TMPDIR"
  as_user -q --store "sqlite:$HOME/own.db" init-db
  as_user -q --store "sqlite:$HOME/own.db" add-tag theirs
  as_user --store "sqlite:$HOME/own.db" next theirs >"$BATS_TEST_TMPDIR/ids"
}
teardown() {
  rm -rf "/dev/shm/leafctl-$user" "/run/leafctl-$user"
  end_host_test
}

@test "root sees what all users have buffered, and changes nothing of it" {
  local tag=of-root-$user  # others may draw as root meanwhile
  leafctl -q add-tag "$tag"
  leafctl next "$tag" >"$BATS_TEST_TMPDIR/ids"
  state() { find "/dev/shm/leafctl-$user" -type f -exec md5sum {} + | sort; }
  before=$(state)
  expect 0 leafctl status --all-users -o json
  same 'theirs' "$user 999 2" "$(jq -r 'select(.tag == "theirs") | "\(.user) \(.left) \(.next_id)"' <<<"$output")"
  same 'its own' 'root 999' "$(jq -r --arg tag "$tag" 'select(.tag == $tag) | "\(.user) \(.left)"' <<<"$output")"
  same 'the files' "$before" "$(state)"
  lacks "$(leafctl status)" theirs
}

@test "root sees what lies in a folder that root has made for a user, too" {
  install -d -m 0700 -o "$user" "/run/leafctl-$user"
  as_user -q --store "sqlite:$HOME/own.db" add-tag elsewhere
  as_user --store "sqlite:$HOME/own.db" next elsewhere >>"$BATS_TEST_TMPDIR/ids"
  expect 0 leafctl status --all-users -o json
  same 'in /dev/shm' "$user" "$(jq -r 'select(.tag == "theirs").user' <<<"$output")"
  same 'in /run' "$user" "$(jq -r 'select(.tag == "elsewhere").user' <<<"$output")"
}

@test "a folder that holds something else is no trouble for root" {
  mkfifo "/dev/shm/leafctl-$user/tag-pipe.v3"
  ln -s /etc/hostname "/dev/shm/leafctl-$user/tag-link.v3"
  : >"/dev/shm/leafctl-$user/tag-empty.v3"
  head -c 4096 /dev/urandom >"/dev/shm/leafctl-$user/tag-noise.v3"
  expect 0 timeout 20 leafctl status --all-users -o json
  same 'theirs' "$user" "$(jq -r 'select(.tag == "theirs").user' <<<"$output")"
}

@test "nobody but root asks for all users, and nothing is given up for others" {
  run --separate-stderr as_user status --all-users
  same 'status' 2 "$status"
  says $'leafctl: \'--all-users\' is for root\nhint: run it with sudo'
  expect 0 leafctl status --all-users
  expect 2 leafctl status --all-users --forget
}
