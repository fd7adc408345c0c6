# The page of the server, drawn and used in Chromium.
load support
load host_support
load serve_support

setup() {
  new_initialized_store
  leafctl -q add-tag order --step 10
  leafctl -q add-tag invoice --limit 500
}
teardown() {
  if [ -s "$BATS_TEST_TMPDIR/pid" ]; then kill -KILL "$(cat "$BATS_TEST_TMPDIR/pid")" 2>/dev/null || true; fi
  end_server
  end_host_test
}

@test "the page shows tags with their fill, decodes, finds bounds, and asks nobody else" {
  # A buffer of another store's, which is none of this one's tag.
  other leafctl -q init-db
  other leafctl -q add-tag invoice
  other leafctl next invoice
  redis_socket=$BATS_TEST_TMPDIR/redis.sock
  start_server leafctl serve --http 127.0.0.1:0 --redis "unix:$redis_socket"
  until_said "on unix:"
  local port
  port=$(sed -n 's/.*http on 127.0.0.1://p' "$server_messages")
  same 'the first' 1 "$(redis incr order)"
  # Of two segments.
  until_left order 19
  (umask 077 && echo a-secret-token >"$BATS_TEST_TMPDIR/tokens")
  cat >"$BATS_TEST_TMPDIR/start" <<SCRIPT
    leafctl serve --http 127.0.0.1:$port --token-file "$BATS_TEST_TMPDIR/tokens" >/dev/null 2>&1 3>&- &
    echo \$! >"$BATS_TEST_TMPDIR/pid"
SCRIPT
  DRAW="redis-cli -s '$redis_socket' leaf.next order 5" TIME=2020-05-02T12:13:44.602Z \
    BOUNDS=$(leafctl bounds --from 2022-06-28 --to 2022-06-29 -o json | jq -r '.first, .last' | xargs) \
    STOP="kill -TERM $server; while kill -0 $server 2>/dev/null; do :; done" START="sh '$BATS_TEST_TMPDIR/start'" \
    /usr/bin/python3 -B "$BATS_TEST_DIRNAME/serve_page.py" "http://127.0.0.1:$port/"
}
