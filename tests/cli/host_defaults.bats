# C++ and C programs that go by the host's defaults draw from the buffer that leafctl draws from.
load support
load host_support

setup() {
  new_initialized_store
  leafctl -q add-tag order
  config=$HOME/.config/leafctl/leafctl.yaml
  mkdir -p "${config%/*}"
}
teardown() { end_host_test; }

# one_order [STORE]: 1 and 2 from the shell, 3 from C++, 4 from C, 5 from the shell again; and nobody else has fetched.
one_order() {
  local named=(${1:+--store "$1"})
  same 'from the shell' $'1\n2' "$(leafctl "${named[@]}" next order -n 2)"
  expect 0 draw_by_defaults order "$@"
  same 'from C++' 3 "$output"
  expect 0 draw_in_c order "$@"
  same 'from C' 4 "$output"
  same 'from the shell again' 5 "$(leafctl "${named[@]}" next order)"
  same 'buffers of the tag' 1 "$(leafctl status -o json | grep -c '"tag":"order"')"
}

@test "by the environment" { one_order; }

@test "by a configuration file" {
  printf 'store: "%s"\nruntime_dir: %s\n' "$LEAFCTL_STORE" "$LEAFCTL_RUNTIME_DIR" >"$config"
  unset LEAFCTL_STORE LEAFCTL_RUNTIME_DIR
  one_order
  LEAFCTL_RUNTIME_DIR=$BATS_TEST_TMPDIR/elsewhere expect 0 draw_by_defaults order
  [ "$output" -ge 1000 ]
}

@test "by a file that LEAFCTL_CONFIG names" {
  printf 'store: "%s"\n' "$LEAFCTL_STORE" >"$BATS_TEST_TMPDIR/other.yaml"
  export LEAFCTL_CONFIG=$BATS_TEST_TMPDIR/other.yaml
  unset LEAFCTL_STORE
  one_order
}

@test "by the name of a store" {
  printf 'stores:\n  orders: "%s"\n' "$LEAFCTL_STORE" >"$config"
  unset LEAFCTL_STORE
  one_order orders
  LEAFCTL_STORE=orders expect 0 draw_by_defaults order
  same 'by the variable' 6 "$output"
  expect 2 draw_by_defaults order order
  says $'there is no store \'order\' in the configuration\nhint: did you mean \'orders\'?'
}

@test "with what libpq takes from the environment" {
  [ "$TEST_STORE" = postgresql ] || skip 'SQLite takes nothing from there'
  export PGDATABASE=$test_database LEAFCTL_STORE=postgresql://
  one_order
}

@test "a file that is wrong is refused with its line, as by leafctl" {
  printf 'store: sqlite:/a.db\nstroe: sqlite:/b.db\n' >"$config"
  expect 2 draw_by_defaults order
  says "$config:2: unknown key 'stroe'
hint: did you mean 'store'?"
}

@test "snowflakes in C are made with the worker of the shell, in one order" {
  local ids=$BATS_TEST_TMPDIR/ids worker_name
  for _ in 1 2 3; do
    leafctl next --snowflake
    draw_in_c --snowflake
  done >"$ids"
  increasing "$ids"
  same 'workers' 1 "$(leafctl workers list | wc -l)"
  for worker_name in another ''; do
    LEAFCTL_WORKER_NAME=$worker_name draw_in_c --snowflake >>"$ids"
  done
  same 'workers' 2 "$(leafctl workers list | wc -l)"
}

@test "a C program takes the worker that is pinned for its name, and the layout that is expected" {
  LEAFCTL_WORKER_ID=5 draw_in_c --snowflake >"$BATS_TEST_TMPDIR/id"
  same 'the worker' 5 "$(leafctl decode -o json <"$BATS_TEST_TMPDIR/id" | jq .worker)"
  LEAFCTL_WORKER_ID=5 expect 0 leafctl next --snowflake
  same 'workers' 1 "$(leafctl workers list | wc -l)"
  LEAFCTL_WORKER_NAME=web LEAFCTL_WORKER_ID=db=6,web=7 draw_in_c --snowflake >"$BATS_TEST_TMPDIR/id"
  same 'the worker' 7 "$(leafctl decode -o json <"$BATS_TEST_TMPDIR/id" | jq .worker)"
  LEAFCTL_WORKER_ID=5x expect 2 draw_in_c --snowflake
  contains "$stderr" "'LEAFCTL_WORKER_ID' names no worker: '5x'"
  LEAFCTL_LAYOUT=twitter expect 2 draw_in_c --snowflake
}

@test "what a C program is told is what leafctl says" {
  expect 4 draw_in_c ordr
  contains "$stderr" "tag 'ordr' does not exist"
  expect 2 draw_in_c 'no tag'
  LEAFCTL_STORE=nonsense: expect 2 draw_in_c order
}

@test "where no buffers are wanted, none is used" {
  leafctl next order
  LEAFCTL_HOST_BUFFER=no expect 0 draw_by_defaults order
  [ "$output" -ge 1000 ]
}

@test "a program without buffers takes nothing that this host was granted before the store went back" {
  local program
  back_up_store
  leafctl -q next order -n 5000 >/dev/null
  put_store_back
  for program in draw_by_defaults draw_in_c; do
    # The restored database is a copy with a guard; the file is not known to have been away.
    if [ "$TEST_STORE" = sqlite ]; then
      LEAFCTL_HOST_BUFFER=no expect 5 "$program" order
    else
      LEAFCTL_HOST_BUFFER=no expect 0 "$program" order
      [ "$output" -gt 5000 ]
    fi
  done
}

@test "a setuid program reads no file that whoever starts it chooses" {
  [ "$(id -u)" -eq 0 ] || skip 'needs root'
  work=$(mktemp -d -p /var/tmp)  # where such programs may lie
  library=$(ldd "$(command -v draw_in_c)" | awk '/libleaf.so/ { print $3 }')
  cat >program.c <<'C'
#include <leaf/leaf.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
  leaf_error* error = NULL;
  const uid_t user = words[1][0] == 't' ? geteuid() : getuid();
  if (count != 2 || (words[1][0] != 'k' && setreuid(user, user) != 0)) return 9;
  leaf_allocator_close(leaf_allocator_open(NULL, &error));
  if (error == NULL) return 0;
  fprintf(stderr, "%s\nhint: %s\n", leaf_error_text(error), leaf_error_hint(error));
  const leaf_status status = leaf_error_status(error);
  leaf_error_free(error);
  return (int)status;
}
C
  cc -I"$BATS_TEST_DIRNAME/../../lib/include" -o "$work/program" program.c "$library" -Wl,-rpath,"${library%/*}"
  install -m 600 /dev/stdin "$work/secret" <<<'password-of-root: x'
  install -m 755 "$(command -v id)" "$work/id"
  chmod 4755 "$work/program" "$work/id"
  chmod 755 "$work"
  as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env -u LEAFCTL_RUNTIME_DIR -u LEAFCTL_STORE "$@"; }
  [ "$(as_nobody "$work/id" -u)" = 0 ] || { rm -rf "$work"; skip 'no program is setuid here'; }
  export LEAFCTL_CONFIG=$work/secret
  for rights in keep take; do
    expect 2 as_nobody "$work/program" "$rights"
    contains "$stderr" 'takes no defaults from the host'
    contains "$stderr" "hint: go without the host's defaults, and name the store"
  done
  # By rights of whoever started it: that one's file, or none.
  expect 2 as_nobody "$work/program" drop
  contains "$stderr" 'secret'
  lacks "$stderr" password-of-root
  expect 2 "$work/program" keep
  contains "$stderr" "unknown key 'password-of-root'"
  rm -rf "$work"
}
