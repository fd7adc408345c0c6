# Changes settings of the whole server, so nothing else may run beside it.

load support
load host_support
load doctor_support

setup() { new_initialized_store; }
teardown() { end_host_test; }

@test "doctor names what the server's own settings turn off, and what it says mends it" {
  set_by_system() { psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -c "$1" -c 'SELECT pg_reload_conf()' >"$BATS_TEST_TMPDIR/reloaded"; }
  # The server reads its files when it comes to it.
  until_failed() {
    local looks=0
    until [ "$(checks failed)" = "$1" ]; do
      looks=$((looks + 1))
      if [ $looks -gt 1000 ]; then same 'what failed' "$1" "$(checks failed)"; fi
    done
  }
  set_by_system 'ALTER SYSTEM SET synchronous_commit = off'
  until_failed 'durability: synchronous_commit is off: a crash of the server loses commits, so no IDs are drawn'
  mends=$(hint durability)
  psql -qX -v ON_ERROR_STOP=1 -d "$test_database" -c "$(cut -d "'" -f 2 <<<"$mends")" -c "$(cut -d "'" -f 4 <<<"$mends")" >"$BATS_TEST_TMPDIR/reloaded"
  until_failed ''
  set_by_system 'ALTER SYSTEM RESET synchronous_commit'
}
