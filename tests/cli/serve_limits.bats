# What the server does about clients that are wrong, slow, too many, or nobody it knows.
load support
load host_support
load serve_support

setup() {
  new_initialized_store
  leafctl -q add-tag order
  leafctl -q add-tag invoice
}
teardown() {
  end_server
  end_host_test
}

tokens() {
  token_file=$BATS_TEST_TMPDIR/tokens
  (umask 077 && printf '%s\n' "$@" >"$token_file")
}

@test "a token is needed, and may be for some tags only" {
  tokens 'all-of-them' 'order-alone order'
  serve --token-file "$token_file" --access-log "$BATS_TEST_TMPDIR/log"
  local path
  for path in /v1/tags/order/next /v1/snowflake/next /v1/status /metrics /v1/decode/1 /v1/bounds /cache /db /api/segment/get/order; do
    get "$path"
    same "the status of $path" 401 "$status"
  done
  for path in / /healthz /readyz /openapi.json; do
    get "$path"
    same "the status of $path" 200 "$status"
  done
  answers 200 '{"tag":"order","ids":["1"]}' /v1/tags/order/next -H 'Authorization: Bearer all-of-them'
  answers 200 '{"tag":"order","ids":["2"]}' /v1/tags/order/next -u any:order-alone
  get /v1/tags/invoice/next -H 'Authorization: Bearer order-alone'
  same 'for another tag' 403 "$status"
  get /v1/snowflake/next -H 'Authorization: Bearer order-alone'
  same 'for snowflake IDs' 403 "$status"
  answers 200 '{"data":null,"code":5,"message":"token is error"}' '/tinyid/id/nextId?bizType=order&token=wrong-token'
  answers 200 '{"data":[3],"code":200,"message":""}' '/tinyid/id/nextId?bizType=order&token=all-of-them'
  contains "$(redis incr order)" NOAUTH
  contains "$(redis ping)" NOAUTH
  contains "$(redis -a wrong-token --no-auth-warning incr order 2>&1)" WRONGPASS
  same 'by AUTH' 4 "$(redis -a all-of-them --no-auth-warning incr order)"
  same 'by HELLO' 5 "$(redis -3 -a all-of-them --no-auth-warning incr order)"
  contains "$(redis -a order-alone --no-auth-warning incr invoice)" NOPERM
  stop_server
  jq . "$BATS_TEST_TMPDIR/log" >"$BATS_TEST_TMPDIR/parsed"
  lacks "$(cat "$BATS_TEST_TMPDIR/log")" all-of-them
  lacks "$(cat "$BATS_TEST_TMPDIR/log")" order-alone
  lacks "$(cat "$BATS_TEST_TMPDIR/log")" wrong-token
}

@test "SIGHUP reads tokens again, for connections that are open too, and keeps those of before where they are wrong" {
  tokens 'the-first-one'
  serve --token-file "$token_file" --access-log "$BATS_TEST_TMPDIR/log"
  answers 200 '{"tag":"order","ids":["1"]}' /v1/tags/order/next -H 'Authorization: Bearer the-first-one'
  coproc CLIENT { redis -a the-first-one --no-auth-warning 3>&-; }
  local answer
  echo 'incr order' >&"${CLIENT[1]}"
  read -r answer <&"${CLIENT[0]}"
  same 'with the first' 2 "$answer"
  tokens 'the-second-one'
  mv "$BATS_TEST_TMPDIR/log" "$BATS_TEST_TMPDIR/log.1"
  kill -HUP "$server"
  until_said 'configuration reloaded'
  echo 'incr order' >&"${CLIENT[1]}"
  read -r answer <&"${CLIENT[0]}"
  contains "$answer" NOAUTH
  answers 200 '{"tag":"order","ids":["3"]}' /v1/tags/order/next -H 'Authorization: Bearer the-second-one'
  tokens short
  kill -HUP "$server"
  until_said 'the configuration was not reloaded'
  answers 200 '{"tag":"order","ids":["4"]}' /v1/tags/order/next -H 'Authorization: Bearer the-second-one'
  stop_server
  contains "$(cat "$BATS_TEST_TMPDIR/log.1")" '"outcome":"ok"'
  contains "$(cat "$BATS_TEST_TMPDIR/log")" '"outcome":"denied"'
}

@test "TLS is spoken at ports, and its certificate read again" {
  new_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -addext 'subjectAltName=IP:127.0.0.1' \
      -keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/certificate" 2>"$BATS_TEST_TMPDIR/openssl"
  }
  new_certificate first
  http_socket=$BATS_TEST_TMPDIR/http.sock
  start_server leafctl serve --http 127.0.0.1:0 --redis 127.0.0.1:0 --http "unix:$http_socket" \
    --tls-certificate "$BATS_TEST_TMPDIR/certificate" --tls-key "$BATS_TEST_TMPDIR/key"
  until_said "unix:$http_socket"
  local http_port redis_port
  http_port=$(sed -n 's/.*http over TLS on 127.0.0.1://p' "$server_messages")
  redis_port=$(sed -n 's/.*redis over TLS on 127.0.0.1://p' "$server_messages")
  same 'over HTTPS' 1 "$(curl -sS --cacert "$BATS_TEST_TMPDIR/certificate" "https://127.0.0.1:$http_port/api/segment/get/order")"
  same 'over HTTP' 2 "$(curl -sS --unix-socket "$http_socket" http://localhost/api/segment/get/order)"
  same 'many' 10000 "$(curl -sS --cacert "$BATS_TEST_TMPDIR/certificate" "https://127.0.0.1:$http_port/v1/tags/order/next?n=10000&form=text" | wc -l)"
  if redis-cli --help 2>&1 | grep -q -- --tls; then
    [[ $(redis-cli -p "$redis_port" --tls --cacert "$BATS_TEST_TMPDIR/certificate" incr order) =~ ^[0-9]+$ ]]
  fi
  # A plain client there gets nowhere, and does no harm.
  curl -sS --max-time 60 "http://127.0.0.1:$http_port/healthz" 2>"$BATS_TEST_TMPDIR/plain" && same 'plain' refused served
  # One of an authority that only another one vouches for: who knows that one is shown both.
  (
    cd "$BATS_TEST_TMPDIR"
    local ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
    openssl req -x509 "${ec[@]}" -days 2 -subj /CN=root -keyout root.key -out root.pem
    openssl req "${ec[@]}" -subj /CN=between -keyout between.key -out between.csr
    openssl x509 -req -in between.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 \
      -extfile <(echo 'basicConstraints=critical,CA:TRUE') -out between.pem
    openssl req "${ec[@]}" -subj /CN=second -keyout key -out second.csr
    openssl x509 -req -in second.csr -CA between.pem -CAkey between.key -CAcreateserial -days 2 \
      -extfile <(echo 'subjectAltName=IP:127.0.0.1') -out second.pem
    cat second.pem between.pem >certificate
  ) 2>"$BATS_TEST_TMPDIR/openssl"
  kill -HUP "$server"
  until_said 'configuration reloaded'
  contains "$(openssl s_client -connect "127.0.0.1:$http_port" </dev/null 2>/dev/null | openssl x509 -noout -subject)" second
  [[ $(curl -sS --cacert "$BATS_TEST_TMPDIR/root.pem" "https://127.0.0.1:$http_port/api/segment/get/order") =~ ^[0-9]+$ ]]
  stop_server
}

@test "what is no request gets a clear error, and an end" {
  serve
  send_http 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  contains "$output" 'HTTP/1.1 505 '
  send_http '\x16\x03\x01\x02'
  contains "$output" 'this address does not use TLS'
  send_http 'GET / HTTP/1.1\r\nA'
  same 'a cut request' '' "$output"
  output=$({ printf 'GET / HTTP/1.1\r\nA: '; head -c 10000000 /dev/zero | tr '\0' a; } | raw "$http_socket")
  contains "$output" 'HTTP/1.1 431 '
  output=$({ printf 'POST /v1/tags/order/next HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n'; head -c 10000000 /dev/zero; } | raw "$http_socket")
  contains "$output" 'HTTP/1.1 413 '
  send_http 'GET /v1/tags/\xff\xfe/next HTTP/1.1\r\nHost: a\r\n\r\n'
  contains "$output" ' 400 '
  send_redis '*1\r\n$-2\r\n'
  same 'a length of -2' '-ERR Protocol error: invalid bulk length' "$output"
  send_redis '*1\r\n$2147483648\r\n'
  same 'a length of 2^31' '-ERR Protocol error: invalid bulk length' "$output"
  send_redis '*1000000\r\n'
  same 'many words' '-ERR Protocol error: invalid multibulk length' "$output"
  send_redis '*1\r\n*1\r\n*1\r\n'
  same 'arrays in arrays' "-ERR Protocol error: expected '\$', got '*'" "$output"
  send_redis '\x16\x03\x01\n'
  same 'TLS' '-ERR Protocol error: unknown protocol' "$output"
  send_redis 'POST / HTTP/1.1\r\nHost: a\r\n\r\nINCR order\r\n'
  same 'HTTP' '' "$output"
  # Nothing was drawn by all that.
  same 'the next ID' 1 "$(redis incr order)"
}

@test "pages of other sites have no browser draw" {
  serve
  get /v1/tags/order/next -H 'Sec-Fetch-Site: cross-site'
  same 'the status' 403 "$status"
  answers 200 1 /api/segment/get/order -H 'Sec-Fetch-Site: same-origin'
}

@test "more connections than are allowed are turned away, silent and slow ones closed" {
  serve --max-connections 1 --idle-timeout 100ms --request-timeout 100ms
  send_slowly() {
    perl -MSocket -e '
      my $s; socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($ARGV[0])) or die "$!";
      syswrite($s, $ARGV[1]); alarm 60; local $/; print scalar <$s>;' "$1" "$2"
  }
  # Both come to their end although these clients never end.
  contains "$(send_slowly "$http_socket" 'GET / HTTP/1.1')" ' 408 '
  until_prints 'a silent one' '' send_slowly "$http_socket" ''
  coproc CLIENT { redis 3>&-; }
  local answer
  echo 'incr order' >&"${CLIENT[1]}"
  read -r answer <&"${CLIENT[0]}"
  same 'the one' 1 "$answer"
}

@test "usage that is wrong is named" {
  expect 2 leafctl serve --http nowhere
  contains "$stderr" "'--http' takes HOST:PORT, [ADDRESS]:PORT or unix:PATH, not 'nowhere'"
  expect 2 leafctl serve --http unix:
  expect 2 leafctl serve --http 127.0.0.1:65536
  expect 2 leafctl serve --tls-key x
  says "leafctl: '--tls-certificate' is missing"
  expect 2 leafctl serve --token-file "$BATS_TEST_TMPDIR/none"
  contains "$stderr" "cannot read token file '$BATS_TEST_TMPDIR/none'"
  tokens long-enough
  chmod 644 "$token_file"
  expect 2 leafctl serve --token-file "$token_file"
  contains "$stderr" "hint: run 'chmod o= $token_file'"
  chmod o= "$token_file"
  serve --token-file "$token_file"
  expect 1 leafctl serve --http "unix:$http_socket"
  contains "$stderr" "cannot listen on 'unix:$http_socket': Address already in use"
  LISTEN_FDS=1 LISTEN_FDNAMES=other expect 2 bash -c 'LISTEN_PID=$$ exec leafctl serve 3</dev/null'
  contains "$stderr" "hint: set 'FileDescriptorName=http' or 'FileDescriptorName=redis' in its socket unit"
}

@test "a server without room for its threads or files says so, and starts with more" {
  runs_within 200000
  cd "$BATS_TEST_TMPDIR"
  expect 3 bash -c 'ulimit -v 150000; leafctl serve --threads 64 --http unix:socket'
  says "leafctl: cannot start a thread: Resource temporarily unavailable
hint: allow more of them, see 'ulimit -u', or more memory, see 'ulimit -v'"
  local files
  for files in 5 6 8; do # for its events, its socket, and its signals
    expect 3 bash -c "exec 3>&- 4>&-; ulimit -n $files; leafctl serve --http unix:socket"
    [[ ${stderr_lines[-2]} =~ ^leafctl:\ .*:\ Too\ many\ open\ files$ ]]
    same 'the hint' "hint: allow this process more open files, see 'ulimit -n'" "${stderr_lines[-1]}"
  done
  serve --threads 64
}

@test "everybody is warned of who listens beyond this host without tokens" {
  start_server leafctl serve --http 0.0.0.0:0
  until_said 'hint: require a token with'
  contains "$(cat "$server_messages")" 'can draw IDs'
  stop_server
  tokens long-enough
  start_server leafctl serve --http 0.0.0.0:0 --token-file "$token_file"
  stop_server
  lacks "$(cat "$server_messages")" 'can draw IDs'
}

@test "without its package, or of another version, the server is named" {
  local own=$BATS_TEST_TMPDIR/own libraries
  mkdir -p "$own/leaf"
  libraries=$(dirname "$(ldd "$(type -P leafctl)" | awk '$1 ~ /^libleaf/ { print $3 }')")
  cp "$libraries"/libleaf.so.0 "$own"
  cp "$libraries"/leaf/*.so "$own/leaf"
  mv "$own/leaf/libleaf-serve.so" "$BATS_TEST_TMPDIR/packaged.so"
  LD_LIBRARY_PATH=$own expect 2 leafctl serve
  says "leafctl: the server is not installed
hint: install the package 'leafctl-serve'; in the source, 'scripts/package' builds it"
  sed "s/$(leafctl --version | awk 'NR == 1 { print $NF }' | sed 's/\./\\./g')/9.9.9/" "$BATS_TEST_TMPDIR/packaged.so" >"$own/leaf/libleaf-serve.so"
  LD_LIBRARY_PATH=$own expect 2 leafctl serve
  contains "$stderr" 'hint: install the same version of leafctl and leafctl-serve'
}

# crowd COUNT PATH [stay]: sends so many requests for PATH, %d in it a number; their clients are gone then, or stay as
# process $crowd until each has an answer; the first lines of those go into crowd_answers.
crowd() {
  cat >"$BATS_TEST_TMPDIR/crowd.pl" <<'PERL'
    use Socket;
    my ($path, $count, $request, $stay) = @ARGV;
    my @all;
    for my $number (1 .. $count) {
      my $s;
      socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($path)) or die "$!";
      (my $one = $request) =~ s/%d/$number/;
      syswrite($s, "GET $one HTTP/1.1\r\nHost: x\r\n\r\n");
      push @all, $s;
    }
    open(my $file, '>', "$path.crowd"); close $file;
    exit unless $stay;
    alarm 60;
    for my $s (@all) { sysread($s, my $answer, 12); print "$answer\n"; }
PERL
  local path=$http_socket
  rm -f "$path.crowd"
  perl "$BATS_TEST_TMPDIR/crowd.pl" "$path" "$@" >"$BATS_TEST_TMPDIR/crowd_answers" 3>&- &
  crowd=$!
  until_true [ -e "$path.crowd" ]
  [ -n "${3:-}" ] || wait "$crowd"
}

# is_soon COMMAND...: it ends in 20 seconds, where a queue of those before would take far longer.
is_soon() {
  local begun=$SECONDS
  "$@"
  if [ $((SECONDS - begun)) -ge 20 ]; then same "$* took" 'less than 20 s' "$((SECONDS - begun)) s"; fi
}

@test "what is buffered is answered at once, whatever waits for a silent store" {
  same 'before' 1 "$(leafctl next order)"
  same 'before' 1 "$(leafctl next invoice)"
  serve --timeout 60s
  answers 200 2 /api/segment/get/invoice
  lock_store
  crowd 50 /v1/tags/nosuch%d/next stay
  is_soon answers 200 2 /api/segment/get/order --max-time 30
  is_soon answers 200 3 /api/segment/get/invoice --max-time 30
  is_soon same 'by Redis' 3 "$(timeout 30 redis-cli -s "$redis_socket" incr order)"
  kill "$crowd"
}

@test "each request is answered in time, whether or not a thread got to it" {
  serve --timeout 1s
  lock_store
  crowd 300 /v1/tags/nosuch%d/next stay
  is_soon get /v1/tags/order/next
  same 'the status' 503 "$status"
  contains "$(timeout 30 redis-cli -s "$redis_socket" incr invoice)" TRYAGAIN
  is_soon wait "$crowd"
  same 'the others' "$(yes 'HTTP/1.1 503' | head -n 300)" "$(cat "$BATS_TEST_TMPDIR/crowd_answers")"
  unlock_store
  until_prints 'afterwards' 200 status_of /v1/tags/order/next
}
status_of() { curl -sS --max-time 60 --unix-socket "$http_socket" -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "http://localhost$1"; }

@test "all who ask whether it is ready share one look" {
  serve --timeout 1s
  lock_store
  crowd 100 /readyz
  is_soon get /readyz --max-time 30
  [[ $status = 200 || $status = 503 ]]
}

# has_ended: the server is no more, or only waits for its status to be taken.
has_ended() { ! kill -0 "$server" 2>/dev/null || [[ $(ps -o stat= -p "$server") = Z* ]]; }

# ends_soon STATUS: the server ends with that.
ends_soon() {
  local ended_with=0
  is_soon until_true has_ended
  wait "$server" || ended_with=$?
  server=
  same 'the status' "$1" "$ended_with"
}

@test "SIGTERM ends it in time, although nobody takes what it waits for" {
  serve --timeout 1s
  lock_store
  crowd 300 /v1/tags/nosuch%d/next
  kill -TERM "$server"
  ends_soon 0
  if [ -e "$http_socket" ] || [ -e "$redis_socket" ]; then same 'sockets' none left; fi
}

@test "SIGTERM ends it in time, although the reader of its log has stopped" {
  mkfifo "$BATS_TEST_TMPDIR/log"
  exec 9<>"$BATS_TEST_TMPDIR/log"
  server_messages=$BATS_TEST_TMPDIR/server_messages http_socket=$BATS_TEST_TMPDIR/http.sock
  leafctl serve --http "unix:$http_socket" --access-log - 2>"$server_messages" >"$BATS_TEST_TMPDIR/log" 3>&- 9<&- &
  server=$!
  until_said listening
  # More than the pipe takes.
  get "/$(head -c 1000 /dev/zero | tr '\0' a)[1-200]"
  kill -TERM "$server"
  ends_soon 0
}

@test "a second SIGTERM ends it at once" {
  serve --timeout 60s
  lock_store
  crowd 20 /v1/tags/nosuch%d/next stay
  kill -TERM "$server"
  until_said stopping
  if has_ended; then same 'after the first' waiting ended; fi
  kill -TERM "$server"
  ends_soon 143
}

@test "lines that the log cannot take are said and counted, and so is a log that cannot be opened again" {
  mkdir "$BATS_TEST_TMPDIR/logs"
  ln -s /dev/full "$BATS_TEST_TMPDIR/logs/log"
  serve --access-log "$BATS_TEST_TMPDIR/logs/log"
  get /healthz
  until_said "cannot write to access log '$BATS_TEST_TMPDIR/logs/log': No space left on device"
  lost_lines() { curl -sS --unix-socket "$http_socket" http://localhost/metrics | sed -n 's/^leafctl_serve_lost_log_lines_total //p'; }
  has_lost() { [ "$(lost_lines)" -ge "$1" ]; }
  until_true has_lost 2
  same 'how often it is said' 1 "$(grep -c 'cannot write' "$server_messages")"
  mv "$BATS_TEST_TMPDIR/logs" "$BATS_TEST_TMPDIR/away"
  kill -HUP "$server"
  until_said "cannot open access log '$BATS_TEST_TMPDIR/logs/log': No such file or directory"
  lacks "$(cat "$server_messages")" 'configuration reloaded'
  mkdir "$BATS_TEST_TMPDIR/logs"
  kill -HUP "$server"
  until_said 'configuration reloaded'
  get /healthz
  stop_server
  contains "$(cat "$BATS_TEST_TMPDIR/logs/log")" /healthz
}

@test "SIGHUP does not wait for pipes: those of before go on" {
  local log=$BATS_TEST_TMPDIR/log.pipe
  mkfifo "$log"
  cat "$log" >"$BATS_TEST_TMPDIR/first" 3>&- &
  local reader=$!
  tokens the-first-one
  serve --token-file "$token_file" --access-log "$log"
  kill "$reader"
  wait "$reader" || true
  rm "$token_file"
  (umask 077 && mkfifo "$token_file")
  kill -HUP "$server"
  until_said "the access log was not reopened: cannot open access log '$log': no process reads this pipe"
  until_said "the configuration was not reloaded: token file '$token_file' is not a regular file"
  answers 200 '{"tag":"order","ids":["1"]}' /v1/tags/order/next -H 'Authorization: Bearer the-first-one'
  # A new reader gets what comes from then on.
  cat "$log" >"$BATS_TEST_TMPDIR/second" 3>&- &
  reader=$!
  reads_log() {
    get /healthz
    [ -s "$BATS_TEST_TMPDIR/second" ]
  }
  until_true reads_log
  stop_server
  wait "$reader"
  contains "$(head -n 1 "$BATS_TEST_TMPDIR/second")" '/healthz'
}

@test "pipes in place of files are named when it starts, and not waited for" {
  local pipe=$BATS_TEST_TMPDIR/pipe
  (umask 077 && mkfifo "$pipe")
  expect 2 timeout 60 leafctl serve --http "unix:$BATS_TEST_TMPDIR/http.sock" --token-file "$pipe"
  contains "$stderr" "token file '$pipe' is not a regular file"
  expect 2 timeout 60 leafctl serve --http "unix:$BATS_TEST_TMPDIR/http.sock" --access-log "$pipe"
  contains "$stderr" "cannot open access log '$pipe': no process reads this pipe"
  expect 2 timeout 60 leafctl serve --http "unix:$BATS_TEST_TMPDIR/http.sock" --tls-certificate "$pipe" --tls-key "$pipe"
  contains "$stderr" "certificate '$pipe' is not a regular file"
}

@test "a key with a passphrase is refused, and nobody is asked for that" {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -passout pass:long-enough -days 2 -subj /CN=a \
    -keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/certificate" 2>"$BATS_TEST_TMPDIR/openssl"
  mkfifo "$BATS_TEST_TMPDIR/silent"
  exec 9<>"$BATS_TEST_TMPDIR/silent"
  expect 2 timeout 60 setsid -w leafctl serve --http "unix:$BATS_TEST_TMPDIR/http.sock" \
    --tls-certificate "$BATS_TEST_TMPDIR/certificate" --tls-key "$BATS_TEST_TMPDIR/key" <"$BATS_TEST_TMPDIR/silent"
  contains "$stderr" "key '$BATS_TEST_TMPDIR/key' has a passphrase"
  contains "$stderr" "hint: remove it with 'openssl pkey'"
  openssl pkey -in "$BATS_TEST_TMPDIR/key" -passin pass:long-enough -out "$BATS_TEST_TMPDIR/plain"
  serve --tls-certificate "$BATS_TEST_TMPDIR/certificate" --tls-key "$BATS_TEST_TMPDIR/plain"
  stop_server
}

@test "the access log may be standard error, and what reads it may stop" {
  serve --access-log /dev/stderr
  get /healthz
  until_said '"path":"/healthz"'
  stop_server
  local pipe=$BATS_TEST_TMPDIR/pipe
  mkfifo "$pipe"
  exec 9<>"$pipe"
  serve --access-log "$pipe"
  get "/$(head -c 1000 /dev/zero | tr '\0' a)[1-200]"
  is_soon answers 200 1 /api/segment/get/order --max-time 30
  # It is left for the file that takes its place.
  mv "$pipe" "$pipe.away"
  kill -HUP "$server"
  until_said 'configuration reloaded'
  logs() {
    get /healthz
    [ -s "$pipe" ]
  }
  until_true logs
  stop_server
}

@test "a reader of its messages that has stopped stalls nothing" {
  local pipe=$BATS_TEST_TMPDIR/pipe
  mkfifo "$pipe"
  exec 9<>"$pipe"
  dd if=/dev/zero of="$pipe" bs=4096 count=1000 oflag=nonblock 2>"$BATS_TEST_TMPDIR/dd" || true
  http_socket=$BATS_TEST_TMPDIR/http.sock
  leafctl serve --http "unix:$http_socket" 2>"$pipe" 3>&- 9<&- &
  server=$!
  until_true [ -S "$http_socket" ]
  kill -HUP "$server"
  is_soon answers 200 1 /api/segment/get/order --max-time 30
  kill -HUP "$server"
  is_soon answers 200 2 /api/segment/get/order --max-time 30
  kill -TERM "$server"
  ends_soon 0
}

# take_slowly SOCKET REQUEST: sends it, takes 64 bytes of the answer after each of other requests, and prints how much came.
take_slowly() {
  perl -MSocket -e '
    sub to { my $s; socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($_[0])) or die "$!"; $s }
    alarm 60;
    my ($slow, $other, $taken) = (to($ARGV[0]), to($ARGV[1]), 0);
    syswrite($slow, $ARGV[2]);
    while (my $count = sysread($slow, my $piece, 64)) {
      $taken += $count;
      syswrite($other, "PING\r\n");
      sysread($other, my $pong, 7);
    }
    print $taken;' "$1" "$redis_socket" "$2"
}

@test "an answer has --request-timeout to be taken, however steadily that goes on" {
  serve --max-count 1000000 --request-timeout 300ms
  local taken
  taken=$(take_slowly "$http_socket" $'GET /v1/tags/order/next?n=1000000&form=text HTTP/1.0\r\n\r\n')
  if [ "$taken" -ge 6888896 ]; then same 'taken' 'a part' "$taken"; fi
  taken=$(take_slowly "$redis_socket" $'LEAF.NEXT order 1000000\r\nQUIT\r\n')
  if [ "$taken" -ge 6888896 ]; then same 'taken' 'a part' "$taken"; fi
  # Who takes it at once gets all of it, and so does who sends one request behind the other, each cut in two.
  curl -sS --unix-socket "$http_socket" -o "$BATS_TEST_TMPDIR/all" 'http://localhost/v1/tags/order/next?n=1000000&form=text'
  same 'all' 1000000 "$(wc -l <"$BATS_TEST_TMPDIR/all")"
  same 'the pongs' 30000 "$(perl -MSocket -e '
    my $s; socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($ARGV[0])) or die "$!";
    alarm 60; syswrite($s, "PI"); my $pongs = 0;
    for (1 .. 30000) { syswrite($s, "NG\r\nPI"); sysread($s, my $pong, 7); last unless $pong eq "+PONG\r\n"; ++$pongs }
    print $pongs;' "$redis_socket")"
}
