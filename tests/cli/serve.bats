# IDs over HTTP and Redis' protocol, from the buffer of the host.
load support
load host_support
load serve_support

setup() {
  new_initialized_store
  leafctl -q add-tag order --step 100
}
teardown() {
  end_server
  end_host_test
  if [ -e "$BATS_TEST_TMPDIR/held.sock.pid" ]; then kill -KILL "$(cat "$BATS_TEST_TMPDIR/held.sock.pid")" 2>/dev/null || true; fi
}

@test "shell, HTTP and Redis draw from one buffer" {
  serve
  answers 200 1 /api/segment/get/order
  same 'of Redis' 2 "$(redis incr order)"
  same 'of the shell' 3 "$(leafctl next order)"
  answers 200 '{"tag":"order","ids":["4","5"]}' '/v1/tags/order/next?n=2'
  same 'of Redis' $'6\n7' "$(redis leaf.next order 2)"
  stop_server
  same 'after the server' 8 "$(leafctl next order)"
}

@test "HTTP gives IDs, runs of IDs and plain lines, by GET and POST" {
  serve
  answers 200 '{"tag":"order","ids":["1"]}' /v1/tags/order/next
  answers 200 '{"tag":"order","ranges":[{"first":"2","last":"11"}]}' '/v1/tags/order/next?n=10&form=ranges'
  answers 200 $'12\n13' '/v1/tags/order/next?n=2&form=text'
  answers 200 '{"tag":"order","ids":["14"]}' /v1/tags/order/next -X POST
  answers 200 '{"tag":"order","ids":["15"]}' /v1/tags/%6frder/next
  # More than is buffered is granted in one piece.
  get '/v1/tags/order/next?n=10000&form=text'
  same 'how many' 10000 "$(wc -l <<<"$output")"
  same 'all above' 16 "$(head -n 1 <<<"$output")"
  increasing <(echo "$output")
  get '/v1/snowflake/next?n=3'
  same 'three' 3 "$(jq '.ids | unique | length' <<<"$output")"
}

@test "POST takes its parameters from a form as well" {
  serve
  answers 200 '{"tag":"order","ids":["1","2"]}' /v1/tags/order/next -d n=2
  answers 200 '{"tag":"order","ranges":[{"first":"3","last":"12"}]}' /v1/tags/order/next -d n=10 -d form=ranges
  get /v1/snowflake/next -d n=3
  same 'three' 3 "$(jq '.ids | unique | length' <<<"$output")"
  get /v1/tags/order/next -d n=0
  same 'the status' 400 "$status"
}

@test "what another store of this host has buffered for a tag of that name is not the server's" {
  other leafctl -q init-db
  other leafctl -q add-tag order --step 500
  other leafctl -q add-tag theirs
  other leafctl next order
  other leafctl next theirs
  leafctl -q tags update order --step 7
  serve --timeout 200ms
  get '/tinyid/id/nextSegmentIdSimple?bizType=order'
  same 'the size of a segment' 7 "$(awk -F , '{ print $3 - $1 }' <<<"$output")"
  get /v1/tags/theirs/next
  same 'the status' 404 "$status"
  get /cache
  same 'the tags' order "$(grep -o '<tr><td>[^<]*' <<<"$output" | sed 's/.*>//')"
  lacks "$output" 500
  get /v1/status
  same 'buffers that are served' order "$(jq -r '.buffers[] | select(.served).tag' <<<"$output")"
  same 'all buffers' 'order order theirs' "$(jq -r '.buffers[].tag' <<<"$output" | sort | xargs)"
  lock_store
  until_prints 'the last is drawn' failed drawn_or_failed
  until_prints 'the status' 503 status_of /readyz
}

@test "HEAD draws nothing, and nothing may be stored" {
  serve
  get /v1/tags/order/next -I
  contains "$output" 'HTTP/1.1 200 OK'
  contains "$output" 'Cache-Control: no-store'
  answers 200 1 /api/segment/get/order
  get /api/segment/get/order -I
  answers 200 2 /api/segment/get/order
  get / -I
  contains "$output" "Content-Type: text/html"
}

@test "what is wrong is said as RFC 9457 has it" {
  serve
  get /v1/tags/nothing/next
  same 'the status' 404 "$status"
  same 'the answer' '{"type":"about:blank","title":"Not Found","status":404,"code":"not_found","detail":"tag '"'nothing'"' does not exist"}' "$output"
  local path
  for path in '/v1/tags/order/next?n='{0,-1,9223372036854775808,x,10001,'',1e3} '/v1/tags/order/next?form=x' \
    /v1/tags/a%00b/next /v1/tags/%ff/next /v1/tags/%zz/next /v1/tags//next /v1/decode/x /v1/decode/-1 \
    /v1/decode/9223372036854775808 /v1/bounds '/v1/bounds?from=x' '/v1/decode/1?layout=x' '/v1/snowflake/next?n=0'; do
    get "$path"
    same "the status of $path" 400 "$status"
    same "the code of $path" bad_request "$(jq -r .code <<<"$output")"
  done
  get /v1/tags/order/next -X DELETE
  same 'the status' 405 "$status"
  get /v1/nothing
  same 'the status' 404 "$status"
  # None of it cost an ID.
  answers 200 1 /api/segment/get/order
}

@test "Leaf's paths answer as Leaf does" {
  serve
  answers 200 1 /api/segment/get/order
  get /api/snowflake/get/any
  same 'the status' 200 "$status"
  leafctl decode "$output"
  get /api/segment/get/nothing
  same 'the status' 500 "$status"
  same 'the keys' '["error","message","path","status","timestamp"]' "$(jq -c keys <<<"$output")"
  same 'the path' /api/segment/get/nothing "$(jq -r .path <<<"$output")"
  same 'the error' 'Internal Server Error' "$(jq -r .error <<<"$output")"
  get '/decodeSnowflakeId?snowflakeId=1256557484213448722'
  same 'worker' 619 "$(jq -r .workerId <<<"$output")"
  same 'sequence' 18 "$(jq -r .sequenceId <<<"$output")"
  contains "$(jq -r .timestamp <<<"$output")" '1588421624602('
  answers 200 '{"errorMsg":"snowflake Id反解析发生异常!"}' '/decodeSnowflakeId?snowflakeId=x'
  get /cache
  contains "$output" '<td>order</td><td>true</td>'
  get /db
  contains "$output" '<tr><td>order</td><td>'
}

@test "tinyid's paths answer as tinyid does" {
  serve
  answers 200 '{"data":[1],"code":200,"message":""}' '/tinyid/id/nextId?bizType=order'
  answers 200 '{"data":[2,3],"code":200,"message":""}' '/tinyid/id/nextId?bizType=order&batchSize=2&token=any'
  answers 200 4,5 '/tinyid/id/nextIdSimple?bizType=order&batchSize=2'
  answers 200 6 '/tinyid/id/nextIdSimple' -d bizType=order
  get '/tinyid/id/nextSegmentId?bizType=order'
  same 'a whole segment' 100 "$(jq '.data.maxId - .data.currentId' <<<"$output")"
  same 'the rest' '[1,0,200]' "$(jq -c '[.data.delta, .data.remainder, .code]' <<<"$output")"
  get '/tinyid/id/nextSegmentIdSimple?bizType=order'
  [[ $output =~ ^[0-9]+,[0-9]+,[0-9]+,1,0$ ]]
  answers 200 '{"data":null,"code":6,"message":"tag '"'nothing'"' does not exist"}' '/tinyid/id/nextId?bizType=nothing'
  answers 200 '' '/tinyid/id/nextIdSimple?bizType=nothing'
}

@test "IDs are decoded, and times bounded, by the store's layout or any other" {
  leafctl -q init-db --layout 41,5,17
  serve
  get /v1/decode/1256557484213448722
  same 'the answer' "$(leafctl decode -o json --layout 41,5,17 1256557484213448722)" "$output"
  get '/v1/decode/175928847299117063?layout=discord'
  same 'the answer' "$(leafctl decode -o json --layout discord 175928847299117063)" "$output"
  get '/v1/bounds?from=2022-06-28&to=2022-06-29'
  same 'the answer' "$(leafctl bounds -o json --layout 41,5,17 --from 2022-06-28 --to 2022-06-29)" "$output"
  get '/v1/bounds?from=2022-06-28T00:00:00.0001Z&to=2022-06-29T00:00:00.0001Z'
  same 'between milliseconds' "$(leafctl bounds -o json --layout 41,5,17 --from 2022-06-28T00:00:00.001Z --to 2022-06-29T00:00:00.001Z)" "$output"
}

@test "Redis' counters are tags" {
  serve
  same 'incr' 1 "$(redis incr order)"
  same 'incrby' 11 "$(redis incrby order 10)"
  same 'leaf.range' $'12\n14' "$(redis leaf.range order 3)"
  # More in one run than a segment has.
  local first last
  { read -r first && read -r last; } < <(redis leaf.range order 5000)
  same 'a run' 4999 $((last - first))
  same 'behind it' $((last + 1)) "$(redis incr order)"
  same 'snowflakes' 2 "$(redis leaf.snowflake 2 | sort -u | wc -l)"
  contains "$(redis leaf.decode 1256557484213448722)" $'unix_ms\n1588421624602'
  contains "$(redis -3 leaf.decode 1256557484213448722)" 'unix_ms 1588421624602'
}

@test "Redis' errors are those of Redis" {
  serve
  local lines
  lines=$(printf '%s\n' 'set a b' 'decr order' 'incrby order -1' 'incrby order 0' 'incrby order x' 'incr' 'incr a/b' \
    'incr nothing' 'select 1' 'select x' 'hello 4' 'auth x' 'echo' 'client x' | redis | grep .)
  same 'the errors' "ERR unknown command 'set', with args beginning with: 'a' 'b' 
ERR unknown command 'decr', with args beginning with: 'order' 
ERR value is out of range, must be from 1 to 10000
ERR value is out of range, must be from 1 to 10000
ERR value is not an integer or out of range
ERR wrong number of arguments for 'incr' command
ERR a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -
ERR tag 'nothing' does not exist
ERR DB index is out of range
ERR value is not an integer or out of range
NOPROTO unsupported protocol version
ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
ERR wrong number of arguments for 'echo' command
ERR unknown subcommand 'x'." "$lines"
  same 'no ID was lost' 1 "$(redis incr order)"
}

@test "pipelined requests are answered in their order, those that wait for the store too" {
  leafctl -q add-tag invoice
  serve
  send_redis 'INCR order\r\nINCR invoice\r\nPING\r\nINCR nothing\r\nINCR order\r\nLEAF.NEXT order 2\r\nQUIT\r\n'
  same 'Redis' ":1
:1
+PONG
-ERR tag 'nothing' does not exist
:2
*2
:3
:4
+OK" "$output"
  send_http 'GET /api/segment/get/invoice HTTP/1.1\r\nHost: a\r\n\r\nGET /readyz HTTP/1.1\r\nHost: a\r\n\r\nPOST /api/segment/get/invoice HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /api/segment/get/order HTTP/1.0\r\n\r\n'
  same 'the answers' '2 ready 3 5' "$(grep -Ev '^([A-Z][A-Za-z-]+:.*|HTTP.*|)$' <<<"$output" | sed 's/HTTP.*//' | xargs)"
  contains "$output" 'Connection: close'
}

# draw_all_but_the_last N: has the server buffer 20 IDs, locks the store and draws all but so many.
draw_all_but_the_last() {
  leafctl -q tags update order --step 10
  same 'the first' 1 "$(redis incr order)"
  until_left order 19
  lock_store
  local i
  for ((i = 2; i <= 20 - $1; ++i)); do echo "INCR order"; done | redis >"$BATS_TEST_TMPDIR/ids"
  same 'the last in memory' $((20 - $1)) "$(tail -n 1 "$BATS_TEST_TMPDIR/ids")"
}

status_of() { curl -sS --unix-socket "$http_socket" -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "http://localhost$1"; }

@test "with the store away IDs come from the buffer, then 503, and then IDs again" {
  serve --timeout 0
  draw_all_but_the_last 1
  answers 200 20 /api/segment/get/order
  get /v1/tags/order/next -D "$BATS_TEST_TMPDIR/head"
  same 'the status' 503 "$status"
  same 'the code' unavailable "$(jq -r .code <<<"$output")"
  contains "$(cat "$BATS_TEST_TMPDIR/head")" 'Retry-After: 1'
  get /api/segment/get/order
  same "Leaf's status" 500 "$status"
  contains "$(redis incr order)" TRYAGAIN
  get /healthz
  same 'it lives' 200 "$status"
  unlock_store
  until_prints 'the status' 200 status_of /v1/tags/order/next
  same 'the next one' true "$([ "$(redis incr order)" -gt 20 ] && echo true)"
}

# take_store_away, put_store_back_again: to a name that nobody gave the server.
take_store_away() {
  case $TEST_STORE in
    sqlite) mv "$BATS_TEST_TMPDIR/leaf.db" "$BATS_TEST_TMPDIR/away" ;;
    postgresql)
      psql -qX -d postgres -c "ALTER DATABASE $test_database ALLOW_CONNECTIONS false" \
        -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$test_database'" >"$BATS_TEST_TMPDIR/psql"
      until_true psql -qX -d postgres -c "ALTER DATABASE $test_database RENAME TO ${test_database}_away" 2>"$BATS_TEST_TMPDIR/psql"
      ;;
  esac
}
put_store_back_again() {
  case $TEST_STORE in
    sqlite) mv "$BATS_TEST_TMPDIR/away" "$BATS_TEST_TMPDIR/leaf.db" ;;
    postgresql) psql -qX -d postgres -c "ALTER DATABASE ${test_database}_away RENAME TO $test_database" \
      -c "ALTER DATABASE $test_database ALLOW_CONNECTIONS true" ;;
  esac
}

@test "a store that is not where the server was told is the server's failure, and no client's" {
  serve --timeout 0
  answers 200 1 /api/segment/get/order
  until_left order 99
  take_store_away
  local path
  for path in '/v1/tags/order/next?n=500' /v1/tags/another/next /v1/snowflake/next /v1/decode/1 '/v1/bounds?from=2022-06-28'; do
    get "$path" -D "$BATS_TEST_TMPDIR/head"
    same "the status of $path" 503 "$status"
    same "the code of $path" unavailable "$(jq -r .code <<<"$output")"
    contains "$(cat "$BATS_TEST_TMPDIR/head")" 'Retry-After: 1'
  done
  get /api/snowflake/get/any
  same "Leaf's status" 500 "$status"
  same "Leaf's keys" '["error","message","path","status","timestamp"]' "$(jq -c keys <<<"$output")"
  get /api/segment/get/another
  same "Leaf's status" 500 "$status"
  get '/tinyid/id/nextId?bizType=order&batchSize=500'
  same "tinyid's status and code" '200 6' "$status $(jq -r .code <<<"$output")"
  local command
  for command in 'incrby order 500' 'leaf.next another' 'leaf.snowflake' 'leaf.decode 1'; do
    # shellcheck disable=SC2086 # words
    same "the begin of what $command gets" TRYAGAIN "$(redis $command | cut -d ' ' -f 1)"
  done
  # What a client asks wrongly is its own fault still.
  get '/v1/tags/order/next?n=0'
  same 'the status' 400 "$status"
  get '/v1/bounds?from=x&layout=leaf'
  same 'the status' 400 "$status"
  until_prints 'the status' 503 readiness_after_a_draw
  put_store_back_again
  until_prints 'the status' 200 status_of '/v1/tags/order/next?n=500'
  until_prints 'the status' 200 status_of /readyz
  get /v1/tags/another/next
  same 'the status' 404 "$status"
}
readiness_after_a_draw() {
  redis incr order >"$BATS_TEST_TMPDIR/drawn"
  status_of /readyz
}

@test "it says at the start that the host would not notice a restored store, where its folder cannot be made" {
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/none/ids serve --no-host-buffer
  contains "$(cat "$server_messages")" 'leafctl: warning: this host keeps no record of its grants'
  answers 200 1 /api/segment/get/order
}

@test "it is not ready where the store can be read alone" {
  [ "$TEST_STORE" = postgresql ] || skip 'root writes to any file'
  psql -qX -d postgres -c "ALTER DATABASE $test_database SET default_transaction_read_only = on"
  serve --timeout 0
  get /readyz
  same 'the status' 503 "$status"
  same 'the code' unavailable "$(jq -r .code <<<"$output")"
}

@test "it is not ready while a lock lets nobody have IDs, though the store answers" {
  leafctl -q tags update order --step 5
  serve --timeout 1s
  answers 200 ready /readyz
  same 'the first' 1 "$(redis incr order)"
  hold_open "BEGIN; SELECT 'locked' FROM leaf_meta;" "BEGIN; SELECT 'locked' FROM leaf_alloc FOR UPDATE;"
  until_prints 'the last is drawn' failed drawn_or_failed
  until_prints 'the status' 503 status_of /readyz
  get /readyz
  contains "$output" "tag 'order' has no IDs left, and gets none"
  unlock_store
  # Nobody asks for IDs meanwhile.
  until_prints 'the status' 200 status_of /readyz
}

@test "it is ready where IDs can be drawn" {
  serve --timeout 0
  answers 200 ready /readyz
  draw_all_but_the_last 1
  answers 200 ready /readyz
  unlock_store
  case $TEST_STORE in
    sqlite) mv "$BATS_TEST_TMPDIR/leaf.db" "$BATS_TEST_TMPDIR/away" ;;
    postgresql) psql -qX -d postgres -c "ALTER DATABASE $test_database ALLOW_CONNECTIONS false" \
      -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$test_database'" >"$BATS_TEST_TMPDIR/psql" ;;
  esac
  redis incr order >"$BATS_TEST_TMPDIR/last"
  until_prints 'the last is drawn' failed drawn_or_failed
  get /readyz
  if [ "$status" = 200 ]; then same 'the status' 'not ready' "$status"; fi
  case $TEST_STORE in
    sqlite) mv "$BATS_TEST_TMPDIR/away" "$BATS_TEST_TMPDIR/leaf.db" ;;
    postgresql) psql -qX -d postgres -c "ALTER DATABASE $test_database ALLOW_CONNECTIONS true" ;;
  esac
  until_prints 'the status' 200 status_of /readyz
}
drawn_or_failed() { if redis incr order | grep -qE '^[0-9]+$'; then echo drawn; else echo failed; fi; }

@test "SIGTERM ends it with 0, after what is in hand is answered" {
  serve --timeout 30s
  draw_all_but_the_last 0
  perl -MSocket -e '
    my $s;
    socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($ARGV[0])) or die "$!";
    alarm 60;
    syswrite($s, "PING\r\nINCR order\r\nPING\r\n");
    sysread($s, my $pong, 7);
    kill "TERM", $ARGV[1];
    local $/; print <$s>;' "$redis_socket" "$server" >"$BATS_TEST_TMPDIR/late" 3>&- &
  local client=$!
  until_said stopping
  unlock_store
  wait "$client"
  [[ $(tr -d '\r' <"$BATS_TEST_TMPDIR/late") =~ ^:[0-9]+$'\n'\+PONG$ ]]
  wait "$server"
  server=
  if [ -e "$http_socket" ] || [ -e "$redis_socket" ]; then same 'sockets' none left; fi
}

@test "killed under load and started again at the same sockets, it gives no ID twice" {
  # Who holds the sockets, as systemd does, and starts the server anew when it ends.
  cat >"$BATS_TEST_TMPDIR/holder" <<'PERL'
    use Socket; use POSIX ();
    my ($path, $times, @command) = @ARGV;
    my $s;
    socket($s, PF_UNIX, SOCK_STREAM, 0) && bind($s, pack_sockaddr_un($path)) && listen($s, 128) or die "$!";
    POSIX::dup2(fileno($s), 3) if fileno($s) != 3;
    $^F = 3;
    for (1 .. $times) {
      my $child = fork();
      if ($child == 0) {
        $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; $ENV{LISTEN_FDNAMES} = 'redis';
        POSIX::dup2(fileno($s), 3); fcntl($s, 2, 0); exec @command;
      }
      open(my $file, '>', "$path.pid.new"); print $file $child; close $file;
      rename "$path.pid.new", "$path.pid";
      waitpid($child, 0);
    }
PERL
  redis_socket=$BATS_TEST_TMPDIR/held.sock
  local wanted=${TEST_KILLS:-3}
  perl "$BATS_TEST_TMPDIR/holder" "$redis_socket" $((wanted + 1)) leafctl serve 2>"$BATS_TEST_TMPDIR/held" 3>&- &
  local holder=$! client
  child=$holder
  server_messages=$BATS_TEST_TMPDIR/held
  until_true [ -e "$redis_socket.pid" ]
  for client in 1 2 3; do
    (
      while [ ! -e "$BATS_TEST_TMPDIR/enough" ]; do
        redis -r 200 incr order || true
      done >"$BATS_TEST_TMPDIR/ids.$client" 2>&1
    ) 3>&- &
  done
  local kills before
  drawn() { cat "$BATS_TEST_TMPDIR"/ids.? | grep -cE '^[0-9]+$' || true; }
  has_drawn() { [ "$(drawn)" -gt "$1" ]; }
  has_other_process() { [ "$(cat "$redis_socket.pid")" != "$1" ]; }
  for ((kills = 0; kills < wanted; ++kills)); do
    before=$(drawn)
    until_true has_drawn $((before + 100))
    server=$(cat "$redis_socket.pid")
    kill -KILL "$server"
    until_true has_other_process "$server"
  done
  before=$(drawn)
  until_true has_drawn $((before + 100))
  : >"$BATS_TEST_TMPDIR/enough"
  kill -TERM "$(cat "$redis_socket.pid")"
  wait "$holder"
  server=
  wait
  # Clients see connections end, and nothing else that is wrong.
  grep -hvE '^([0-9]+)?$' "$BATS_TEST_TMPDIR"/ids.? | sort | uniq -c >"$BATS_TEST_TMPDIR/errors" || true
  same 'other errors' '' "$(grep -vE ' (Error: (Server closed the connection|Connection reset by peer|Broken pipe)|Could not connect .*: Connection re.*)$' "$BATS_TEST_TMPDIR/errors" || true)"
  grep -hE '^[0-9]+$' "$BATS_TEST_TMPDIR"/ids.? >"$BATS_TEST_TMPDIR/all"
  same 'twice' '' "$(sort "$BATS_TEST_TMPDIR/all" | uniq -d)"
  echo "# figure: server_kill/leafctl-serve $wanted kills" >&3
  echo "# figure: server_kill/leafctl-serve $(wc -l <"$BATS_TEST_TMPDIR/all") IDs" >&3
}

@test "what the server says of a clock far ahead helps word for word, whatever folder the reader has" {
  if [ "$TEST_STORE" = postgresql ]; then skip 'the clock of the server cannot be set'; fi
  local clock=$BATS_TEST_TMPDIR/clock library command buffered
  library=$(faketime -f +0 printenv LD_PRELOAD)
  for buffered in yes no; do
    echo +400d >"$clock"
    # shellcheck disable=SC2031 # as a service has it
    LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/service LEAFCTL_HOST_BUFFER=$buffered LD_PRELOAD=$library \
      FAKETIME_TIMESTAMP_FILE=$clock FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 serve --worker-name a
    get '/v1/snowflake/next?form=text'
    same 'the status' 200 "$status"
    echo +0 >"$clock"
    get '/v1/snowflake/next?form=text'
    same 'the status' 503 "$status"
    get /v1/status
    command=$(jq -r '.findings[] | select(.state == "failed").hint' <<<"$output" | sed -n "s/.*'leafctl \(.*\)'.*/\1/p" | sort -u)
    same 'the command' "--store $LEAFCTL_STORE --runtime-dir $BATS_TEST_TMPDIR/service workers release --worker-name a" "$command"
    if [ $buffered = no ]; then
      contains "$output" ', then start again whatever runs under that name'
      # shellcheck disable=SC2086 # as a person types it
      expect 0 leafctl $command
      stop_server
      LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/service LEAFCTL_HOST_BUFFER=no serve --worker-name a
    else
      # shellcheck disable=SC2086 # as a person types it
      expect 0 leafctl $command
    fi
    get '/v1/snowflake/next?form=text'
    same 'the status' 200 "$status"
    stop_server
    leafctl -q workers release --worker-name a
  done
}
