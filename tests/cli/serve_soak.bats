# 10^8 requests to one server, whose memory stays what it is.
load support
load host_support
load serve_support

setup() {
  new_initialized_store
  leafctl -q add-tag order --step 1000000
}
teardown() {
  end_server
  end_host_test
}

# memory: of the server's own, in KiB.
memory() { sed -n 's/^RssAnon:\s*\([0-9]*\) kB/\1/p' "/proc/$server/status"; }

# draw_many N [OPTION...]: by Redis' protocol.
draw_many() {
  local count=$1
  shift
  redis-benchmark -s "$redis_socket" -q -n "$count" "$@" incr order >"$BATS_TEST_TMPDIR/benchmark" 2>&1
}
get_many() {
  local urls
  printf -v urls 'url = "http://localhost/v1/tags/order/next"\n%.0s' {1..1000}
  for ((i = 0; i < $1; i += 1000)); do
    curl -sS --unix-socket "$http_socket" -K - -o /dev/null <<<"$urls" >"$BATS_TEST_TMPDIR/answers"
  done
}

@test "memory stays flat over many requests and connections" {
  local requests=${TEST_REQUESTS:-100000000} before after i
  serve
  draw_many 1000000 -c 50 -P 64
  draw_many 10000 -c 50 -k 0
  get_many 10000
  before=$(memory)
  draw_many "$requests" -c 50 -P 64
  draw_many 100000 -c 50 -k 0
  get_many 100000
  after=$(memory)
  echo "KiB before and after: $before $after" >&3
  # A byte for each hundredth of 10^8 requests would show.
  if [ $((after - before)) -gt 1024 ]; then same 'the memory of the server' "$before" "$after"; fi
  # Each got an ID of its own: so many are gone.
  same 'the next ID' true "$([ "$(redis incr order)" -gt $((requests + 1220000)) ] && echo true)"
  stop_server
}
