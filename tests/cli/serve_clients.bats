# The server, asked by the programs that people have: redis-cli, redis-benchmark, redis-py, curl, promtool.
load support
load host_support
load serve_support

setup() {
  new_initialized_store
  leafctl -q add-tag order
}
teardown() {
  end_server
  end_host_test
}

@test "redis-cli and redis-benchmark" {
  serve
  same 'RESP3' 1 "$(redis -3 incr order)"
  same 'ping' PONG "$(redis ping)"
  same 'hello' hello "$(redis ping hello)"
  same 'commands' "$(redis command count)" "$(redis command | grep -cE '^(incr|incrby|leaf\..*|ping|echo|select|auth|hello|client|command|config|info|reset|quit)$')"
  contains "$(redis info)" "leafctl_version:$(leafctl --version | awk 'NR == 1 { print $NF }')"
  redis-benchmark -s "$redis_socket" -q -n 20000 -c 20 -P 16 incr order >"$BATS_TEST_TMPDIR/benchmark"
  same 'after 20000' 20002 "$(redis incr order)"
}

@test "redis-py, in both protocols, with pipelines" {
  serve
  /usr/bin/python3 - "$redis_socket" <<'PYTHON'
import sys, redis
client = redis.Redis(unix_socket_path=sys.argv[1])
assert client.incr('order') == 1
assert client.incrby('order', 10) == 11
assert client.ping()
assert client.execute_command('LEAF.NEXT', 'order', 3) == [12, 13, 14]
assert client.execute_command('LEAF.RANGE', 'order', 3) == [15, 17]
pipe = client.pipeline(transaction=False)
for _ in range(1000):
    pipe.incr('order')
assert pipe.execute() == list(range(18, 1018))
for command in [('SET', 'a', 'b'), ('DECR', 'order'), ('INCRBY', 'order', -1), ('INCR', 'nothing')]:
    try:
        client.execute_command(*command)
        sys.exit('no error: %r' % (command,))
    except redis.ResponseError:
        pass
PYTHON
}

@test "every path of openapi.json answers as it says" {
  serve
  get /openapi.json
  echo "$output" >"$BATS_TEST_TMPDIR/openapi.json"
  local path method wanted type
  jq -r '. as $all | .paths | to_entries[] | .key as $path | .value | to_entries[] |
    [.key, ($path + ([.value.parameters[]? | if has("$ref") then ."$ref" as $ref | $all.components.parameters[$ref | split("/") | last] else . end |
      select(.required or .name == "n")] as $parameters |
      reduce $parameters[] as $p ({path: "", query: []};
        if $p.in == "query" then .query += [$p.name + "=" + (($p.example // 3) | tostring)] else . end) | .query |
      if length > 0 then "?" + join("&") else "" end)), (.value.responses | keys[0]),
      (.value.responses["200"] | if has("$ref") then ."$ref" as $ref | $all.components.responses[$ref | split("/") | last] else . end | .content | keys | join(" "))] | @tsv' \
    "$BATS_TEST_TMPDIR/openapi.json" | sed 's/{tag}/order/; s/{key}/any/; s/{id}/1256557484213448722/' >"$BATS_TEST_TMPDIR/paths"
  same 'paths' true "$([ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" -ge 18 ] && echo true)"
  while IFS=$'\t' read -r method path wanted type; do
    get "$path" -X "${method^^}" -D "$BATS_TEST_TMPDIR/head"
    same "the status of $path" "$wanted" "$status"
    local got
    got=$(sed -n 's/^Content-Type: \([^;\r]*\).*/\1/p' "$BATS_TEST_TMPDIR/head")
    if [[ " $type " != *" $got "* ]]; then same "the type of $path" "$type" "$got"; fi
    if [ "$got" = application/json ]; then jq . <<<"$output" >"$BATS_TEST_TMPDIR/parsed"; fi
  done <"$BATS_TEST_TMPDIR/paths"
  # And there is no other path: each route of the source stands there.
  local route
  while read -r route; do
    if ! grep -qF "$route" "$BATS_TEST_TMPDIR/openapi.json"; then same "the path $route" 'in openapi.json' missing; fi
  done < <(grep -ohE '"/[a-zA-Z/0-9]+(\.json)?"' "$BATS_TEST_DIRNAME/../../cmd/serve/http_routes.cpp" | tr -d '"' | grep -v openapi | sort -u)
}

@test "what is answered without a token, or with another tag's, stands in openapi.json" {
  (umask 077 && printf '%s\n' 'order-alone invoice' >"$BATS_TEST_TMPDIR/tokens")
  serve --token-file "$BATS_TEST_TMPDIR/tokens"
  local path method statuses token
  get /openapi.json
  jq -r '.paths | to_entries[] | .key as $path | .value | to_entries[] |
    [.key, $path, (.value.responses | keys | join(" "))] | @tsv' <<<"$output" |
    sed 's/{tag}/order/; s/{key}/any/; s/{id}/1/' >"$BATS_TEST_TMPDIR/paths"
  while IFS=$'\t' read -r method path statuses; do
    for token in wrong-token order-alone; do
      get "$path" -X "${method^^}" -H "Authorization: Bearer $token"
      if [[ " $statuses " != *" $status "* ]]; then same "the status of $method $path" "$statuses" "$status"; fi
    done
  done <"$BATS_TEST_TMPDIR/paths"
}

@test "metrics are those of Prometheus, and tell of requests" {
  serve
  redis incr order
  get /v1/tags/order/next
  get /v1/tags/nothing/next
  get /metrics
  echo "$output" >"$BATS_TEST_TMPDIR/metrics"
  promtool check metrics <"$BATS_TEST_TMPDIR/metrics"
  local line
  for line in 'leafctl_serve_requests_total{protocol="redis",kind="segment",outcome="ok"} 1' \
    'leafctl_serve_requests_total{protocol="http",kind="segment",outcome="ok"} 1' \
    'leafctl_serve_requests_total{protocol="http",kind="segment",outcome="not_found"} 1' \
    'leafctl_serve_ids_total{kind="segment"} 2' 'leafctl_serve_waiting_requests 0' 'leafctl_store_up 1' \
    'leafctl_buffer_drawn_ids_total{tag="order",'; do
    contains "$(cat "$BATS_TEST_TMPDIR/metrics")" "$line"
  done
}

@test "the page needs nothing from elsewhere, and what it shows is all there" {
  serve
  redis incr order
  get / -D "$BATS_TEST_TMPDIR/head"
  contains "$(cat "$BATS_TEST_TMPDIR/head")" "Content-Security-Policy: default-src 'none'"
  if grep -E '(src|href)=|https?://|@import|url\(' <<<"$output"; then same 'resources' none some; fi
  get /v1/status
  same 'the tag' order "$(jq -r '.tags[0].tag' <<<"$output")"
  same 'its buffer' ok "$(jq -r '.buffers[] | select(.tag == "order").state' <<<"$output")"
  same 'the store' true "$(jq .store.up <<<"$output")"
  same 'workers' 1024 "$(jq .workers.total <<<"$output")"
  same 'the checks of doctor' "$(leafctl doctor -o json | jq -r .check | sort -u)" "$(jq -r '.findings[].check' <<<"$output" | sort -u)"
  # The buffer is as it was.
  same 'the next ID' 2 "$(redis incr order)"
}

@test "the page misses no free worker while the server holds the only one in its own memory" {
  leafctl -q init-db --workers 0-0
  serve --no-host-buffer
  get /v1/snowflake/next
  same 'the status' 200 "$status"
  get /v1/status
  same 'workers' ok "$(jq -r '.findings[] | select(.check == "workers").state' <<<"$output")"
}

@test "each command that the page proposes names the server's store: its reader may have another" {
  serve
  recreate_store
  get /v1/status
  hints=$(jq -r '.store.hint, .findings[].hint' <<<"$output" | grep -o "'leafctl [^']*'" | sort -u)
  [ -n "$hints" ]
  same 'commands without the store' '' "$(grep -vF -- "$LEAFCTL_STORE" <<<"$hints")"
}

@test "an application of Leaf's, one with a Redis client, a program with the library and a shell script draw at once" {
  [ -n "${LEAF_PYTHONPATH:-}" ] || skip 'the library for Python is not built'
  leafctl -q tags update order --step 50
  serve
  mkdir "$BATS_TEST_TMPDIR/drawn"
  cd "$BATS_TEST_TMPDIR/drawn"
  # Each draws until all have drawn enough, beside each other.
  cat >../as_java.py <<'PYTHON'
import os, socket, sys
# As HttpURLConnection of Java asks.
request = (b'GET /api/segment/get/order HTTP/1.1\r\nUser-Agent: Java/1.8.0_202\r\nHost: localhost:8080\r\n'
           b'Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2\r\nConnection: keep-alive\r\n\r\n')
with socket.socket(socket.AF_UNIX) as connection, open('leaf', 'w', 1) as drawn:
    connection.connect(sys.argv[1])
    answers = connection.makefile('rb')
    while not os.path.exists('enough'):
        connection.sendall(request)
        assert answers.readline() == b'HTTP/1.1 200 OK\r\n'
        length = 0
        while (line := answers.readline()) != b'\r\n':
            if line.lower().startswith(b'content-length:'):
                length = int(line.split(b':')[1])
        print(int(answers.read(length)), file=drawn)
PYTHON
  cat >../by_redis.py <<'PYTHON'
import os, redis, sys
client = redis.Redis(unix_socket_path=sys.argv[1])
with open('redis', 'w', 1) as drawn:
    while not os.path.exists('enough'):
        print(client.incr('order'), file=drawn)
PYTHON
  cat >../by_library.py <<'PYTHON'
import os, leaf
with leaf.allocator() as allocator, open('library', 'w', 1) as drawn:
    order = allocator.tag('order')
    while not os.path.exists('enough'):
        print(next(order), file=drawn)
PYTHON
  local clients=() client
  /usr/bin/python3 -B ../as_java.py "$http_socket" 3>&- & clients+=($!)
  /usr/bin/python3 -B ../by_redis.py "$redis_socket" 3>&- & clients+=($!)
  PYTHONPATH=$LEAF_PYTHONPATH "$LEAF_PYTHON" -B ../by_library.py 3>&- & clients+=($!)
  (until [ -e enough ]; do leafctl next order >>shell || exit; done) 3>&- & clients+=($!)
  # Whoever has died is found below.
  all_have_drawn() {
    for client in "${clients[@]}"; do kill -0 "$client" 2>/dev/null || return 0; done
    for client in leaf redis library shell; do [ -e $client ] && [ "$(wc -l <$client)" -ge 100 ] || return; done
  }
  until_true all_have_drawn
  : >enough
  for client in "${clients[@]}"; do wait "$client"; done
  rm enough
  all_different "$(cat ./* | wc -l)" ./*
  for client in *; do increasing "$client"; done
  stop_server
}

@test "several threads give no ID twice, over HTTP and Redis' protocol at once" {
  leafctl -q tags update order --step 50
  serve --threads 3
  local client
  for client in 1 2 3; do
    redis -r 500 incr order >"$BATS_TEST_TMPDIR/ids.$client" &
    printf 'url = "http://localhost/v1/tags/order/next?n=7&form=text"\n%.0s' {1..100} |
      curl -sS --unix-socket "$http_socket" -K - >"$BATS_TEST_TMPDIR/ids.http$client" &
  done
  for client in $(jobs -p); do [ "$client" = "$server" ] || wait "$client"; done
  all_different 3600 "$BATS_TEST_TMPDIR"/ids.*
  for client in "$BATS_TEST_TMPDIR"/ids.*; do increasing "$client"; done
  stop_server
}

# count_pauses OPTION...: how often a server paused that was asked for three IDs, one after the other, goes into $pauses.
count_pauses() {
  local trace=$BATS_TEST_TMPDIR/trace
  http_socket=$BATS_TEST_TMPDIR/http.sock
  redis_socket=$BATS_TEST_TMPDIR/redis.sock
  start_server strace -D -f -qq -o "$trace" -e trace=clock_nanosleep \
    leafctl serve --http "unix:$http_socket" --redis "unix:$redis_socket" "$@"
  redis -r 3 incr order >"$BATS_TEST_TMPDIR/ids"
  stop_server
  until_true no_tracer
  pauses=$(grep -c 'tv_nsec=20000}' "$trace") || true
}
no_tracer() { ! pgrep -f "strace -D -f -qq -o $BATS_TEST_TMPDIR/trace" >/dev/null; }

@test "--coalesce pauses after requests, and without it nothing does" {
  strace -qq -o /dev/null true 2>/dev/null || skip 'needs strace'
  local pauses
  count_pauses
  same 'pauses without the option' 0 "$pauses"
  count_pauses --coalesce 20
  [ "$pauses" -ge 1 ] || same 'pauses with it' 'at least 1' "$pauses"
}
