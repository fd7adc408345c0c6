# The units for systemd, as far as they can be tested where it does not run.
load support
load host_support
load serve_support

setup() {
  units=$BATS_TEST_TMPDIR/units
  mkdir "$units"
  cp "$BATS_TEST_DIRNAME"/../../cmd/serve/systemd/*.socket "$units"
  sed "s|@CMAKE_INSTALL_FULL_BINDIR@|$(dirname "$(type -P leafctl)")|" \
    "$BATS_TEST_DIRNAME/../../cmd/serve/systemd/leafctl.service" >"$units/leafctl.service"
}
teardown() {
  end_server
  end_host_test
}

# setting UNIT NAME: its value.
setting() { sed -n "s/^$2=//p" "$units/$1"; }

@test "the units are valid, and the service may do little" {
  run env SYSTEMD_UNIT_PATH="$units:" systemd-analyze verify --man=no "$units"/*.socket "$units/leafctl.service"
  same 'the status' 0 "$status"
  same 'what it says of them' '' "$(grep leafctl <<<"$output" || true)"
  # The exposure, in tenths.
  expect 0 systemd-analyze security --offline=yes --threshold=30 --no-pager "$units/leafctl.service"
  # It would delete the buffer.
  lacks "$(cat "$units/leafctl.service")" RemoveIPC=yes
}

@test "the first connection starts the server, which goes on with its sockets" {
  new_initialized_store
  leafctl -q add-tag order
  same 'of the shell' 1 "$(leafctl next order)"
  http_socket=$BATS_TEST_TMPDIR/http.sock
  redis_socket=$BATS_TEST_TMPDIR/redis.sock
  local environment=() name command
  for name in "${!LEAFCTL_@}" LD_LIBRARY_PATH; do
    if [ -n "${!name:-}" ]; then environment+=(-E "$name"); fi
  done
  read -ra command <<<"$(setting leafctl.service ExecStart)"
  server_messages=$BATS_TEST_TMPDIR/server_messages
  systemd-socket-activate -l "$http_socket" -l "$redis_socket" "${environment[@]}" \
    --fdname="$(setting leafctl.socket FileDescriptorName):$(setting leafctl-redis.socket FileDescriptorName)" \
    "${command[@]}" 2>"$server_messages" 3>&- &
  server=$!
  until_said "Listening on $redis_socket"
  lacks "$(cat "$server_messages")" 'listening for'
  same 'of Redis' 2 "$(redis incr order)"
  answers 200 3 /api/segment/get/order
  contains "$(cat "$server_messages")" "listening for http on unix:$http_socket"
  stop_server
  # Whoever made the sockets keeps them.
  [ -S "$http_socket" ]
  same 'of the shell' 4 "$(leafctl next order)"
}
