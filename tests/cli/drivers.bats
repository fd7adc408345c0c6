# Where the program finds the drivers of its databases.
load support

setup() {
  new_initialized_store
  own=$BATS_TEST_TMPDIR/own
  mkdir -p "$own/leaf" "$BATS_TEST_TMPDIR/here/leaf"
  local libraries
  libraries=$(dirname "$(ldd "$(type -P leafctl)" | awk '$1 ~ /^libleaf/ { print $3 }')")
  cp "$libraries"/libleaf.so.0 "$own"
  cp "$libraries"/leaf/*.so "$own/leaf"
  for driver in "$own"/leaf/*.so; do echo 'not loaded' >"$BATS_TEST_TMPDIR/here/leaf/$(basename "$driver")"; done
}
teardown() {
  remove_store
}

@test "a driver is found beside the library, however that was found" {
  cd "$own"
  LD_LIBRARY_PATH=$own expect 0 leafctl tags list
  LD_LIBRARY_PATH=: expect 0 leafctl tags list
  cd ..
  LD_LIBRARY_PATH=own expect 0 leafctl tags list
}

@test "no driver is loaded from the working directory once the library has gone" {
  cd "$BATS_TEST_TMPDIR/here"
  mkfifo ../import
  LD_LIBRARY_PATH=$own leafctl tags import - <../import >../out 2>&1 3>&- &
  local process=$!
  exec 9>../import
  eventually grep -q "$own/libleaf" "/proc/$process/maps"
  rm -r "$own"
  echo 'tags: []' >&9
  exec 9>&-
  local status=0
  wait $process || status=$?
  same 'the status' 2 "$status"
  contains "$(cat ../out)" "is not installed"
}

@test "a driver that is missing, or of another version, is named with the package that brings it" {
  export LD_LIBRARY_PATH=$own
  local driver=$own/leaf/libleaf-$TEST_STORE.so packaged=$BATS_TEST_TMPDIR/packaged.so
  mv "$driver" "$packaged"
  expect 2 leafctl tags list
  says "leafctl: the driver for '$TEST_STORE' is not installed
hint: install the package 'libleaf-$TEST_STORE'"
  sed "s/$(leafctl --version | awk 'NR == 1 { print $NF }' | sed 's/\./\\./g')/9.9.9/" "$packaged" >"$driver"
  expect 3 leafctl tags list
  contains "$stderr" "leafctl: driver '$driver' is not of version "
  contains "$stderr" "hint: if packages are being upgraded, try again; if that happened while this program was running, restart it; otherwise install the same version of libleaf and libleaf-$TEST_STORE"
  cp "$packaged" "$driver"
  expect 0 leafctl tags list
}
