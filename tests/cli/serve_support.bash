# A server to test, which ends with its test. It listens at Unix sockets alone, unless asked otherwise: no port is guessed.
# shellcheck disable=SC2154 # set by support.bash
# shellcheck disable=SC2034 # read by the tests

# serve [OPTION...]: starts one at $http_socket and $redis_socket, and returns when it listens; its process is $server.
serve() {
  http_socket=$BATS_TEST_TMPDIR/http.sock
  redis_socket=$BATS_TEST_TMPDIR/redis.sock
  start_server leafctl serve --http "unix:$http_socket" --redis "unix:$redis_socket" "$@"
}

# start_server COMMAND...: what it says goes into $server_messages.
start_server() {
  server_messages=$BATS_TEST_TMPDIR/server_messages
  : >"$server_messages"
  "$@" 2>"$server_messages" >"$BATS_TEST_TMPDIR/server_output" 3>&- &
  server=$!
  until_said listening
}

# until_said TEXT: looks until the server has said it, or is gone.
until_said() {
  local looks=0
  until grep -qF -- "$1" "$server_messages"; do
    looks=$((looks + 1))
    if [ $looks -gt 20000 ] || ! kill -0 "$server" 2>/dev/null; then
      echo "the server did not say '$1':"
      cat "$server_messages"
      return 1
    fi
  done
}

# stop_server [SIGNAL]: and finds that it ends well.
stop_server() {
  local status=0
  kill "-${1:-TERM}" "$server"
  wait "$server" || status=$?
  server=
  same 'the status of the server' 0 "$status"
}

end_server() {
  if [ -n "${server:-}" ]; then
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
}

# get PATH [OPTION...]: what HTTP answers; the status goes into $status, the body into $output.
get() {
  local path=$1
  shift
  output=$(curl -sS --max-time 60 --unix-socket "$http_socket" -o - -w '\n%{http_code}' "$@" "http://localhost$path")
  status=${output##*$'\n'}
  output=${output%$'\n'*}
  output=${output%$'\n'}
}

# answers STATUS BODY PATH [OPTION...]
answers() {
  local wanted_status=$1 wanted=$2
  shift 2
  get "$@"
  same "the status of $1" "$wanted_status" "$status"
  same "the answer of $1" "$wanted" "$output"
}

# redis COMMAND...: by redis-cli.
redis() { redis-cli -s "$redis_socket" "$@"; }

# raw SOCKET: sends standard input as it is and prints what is answered until the server ends the connection.
raw() {
  perl -MSocket -e '
    my $s;
    socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un($ARGV[0])) or die "$!";
    $SIG{ALRM} = sub { print "no end\n"; exit 1 }; alarm 60; $SIG{PIPE} = "IGNORE";
    my $sent = do { local $/; <STDIN> };
    if (fork() == 0) {
      for (my $at = 0; $at < length $sent;) {
        my $count = syswrite($s, $sent, 65536, $at); last unless $count; $at += $count;
      }
      shutdown($s, 1); exit 0;
    }
    while (sysread($s, my $answer, 65536)) { print $answer }' "$1"
}

# send_http TEXT, send_redis TEXT: with the escapes of printf; the answer goes into $output.
send_http() {
  # shellcheck disable=SC2059
  output=$(printf "$1" | raw "$http_socket" | tr -d '\r')
}
send_redis() {
  # shellcheck disable=SC2059
  output=$(printf "$1" | raw "$redis_socket" | tr -d '\r')
}

# until_true COMMAND...: looks until it succeeds.
until_true() {
  local looks=0
  until "$@"; do
    looks=$((looks + 1))
    if [ $looks -gt 20000 ]; then
      echo "never came about: $*"
      return 1
    fi
  done
}
