# Pages that are well-formed and say what is true: each example runs and prints what it shows.
load support

setup() { new_store; }

# examples PAGE: the lines of its examples.
examples() {
  mandoc -T ascii -O width=500 "$1" 2>/dev/null | col -bx |
    awk '/^[^ ]/ { in_section = $0 == "EXAMPLES" } in_section && sub(/^           /, "")'
}

# Of an example in the background, which the next ones talk to.
server=
start_server() {
  bash -c "exec $1" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
  server=$!
  eventually grep -q listening "$BATS_TEST_TMPDIR/server"
}
end_server() {
  [ -n "$server" ] || return 0
  kill "$server"
  wait "$server"
  server=
}
teardown() {
  end_server
  if [ -n "${examples:-}" ]; then rm -rf "$examples"; fi
}

# run_example COMMAND SHOWN: what it prints is what the page shows; where the page shows nothing, it just works.
run_example() {
  if [[ $1 == *' &' ]]; then start_server "${1% &}"; return; fi
  # The blanks in the page stand for tabs and blanks alike.
  local printed
  printed=$(bash -o pipefail -c "$1" 2>&1) || { printf '%s\nfailed: %s\n' "$1" "$printed"; return 1; }
  [ -z "$2" ] || same "$1" "$2" "$(expand <<<"$printed")"
}

@test "mandoc finds nothing to complain about" {
  local pages=("$MANUAL"/man*/*) complaints
  [ ${#pages[@]} -ge 14 ]
  # It looks for other pages only where the system keeps its own; the next test looks for them.
  complaints=$(mandoc -T lint "${pages[@]}" 2>/dev/null | grep -v 'referenced manual not found') || true
  same 'complaints' '' "$complaints"
}

@test "man shows every page in 80 columns, and no macro takes a bracket for its own" {
  local file shown
  for file in "$MANUAL"/man*/*; do
    shown=$(LC_ALL=C MANWIDTH=80 man -l "$file" | col -bx)
    same "lines of $file that are too wide" '' "$(grep -E '^.{81}' <<<"$shown" || true)"
    lacks "$shown" "['']"
  done
}

@test "pages that others refer to are there" {
  local reference
  for reference in $(cat "$MANUAL"/man*/* | awk '$1 == ".Xr" && $2 ~ /leaf/ { print $2 "." $3 }' | sort -u); do
    [ -f "$MANUAL/man${reference##*.}/$reference" ] || { echo "no page $reference"; return 1; }
  done
}

@test "every page has all sections, the date and, where it tells the version, the right one" {
  local file section
  for file in "$MANUAL"/man*/*; do
    for section in NAME DESCRIPTION FILES EXAMPLES 'SEE ALSO'; do contains "$(<"$file")" ".Sh $section"; done
    case $file in
      *.1) for section in SYNOPSIS OPTIONS 'EXIT STATUS' ENVIRONMENT; do contains "$(<"$file")" ".Sh $section"; done ;;
    esac
    lacks "$(<"$file")" '@LEAF'
    lacks "$(<"$file")" '@PROJECT'
  done
  contains "$(<"$MANUAL/man1/leafctl.1")" ".Sh GUARANTEES"
  contains "$(<"$MANUAL/man1/leafctl.1")" "version $(leafctl --version | cut -d ' ' -f 2)."
}

@test "every example runs and prints what the page shows" {
  local file line command shown count=0
  for file in "$MANUAL"/man1/*; do
    # A build without the server has its page all the same.
    [[ $file != */leafctl-serve.1 || -e $(dirname "$(command -v leafctl)")/../lib/leaf/libleaf-serve.so ]] || continue
    examples=/var/tmp/leaf-examples-$$  # on a disk, of which doctor has nothing to say
    mkdir "$examples"
    cd "$examples"
    export LEAFCTL_STORE=sqlite:$PWD/leaf.db
    leafctl -q init-db
    leafctl -q add-tag order
    command=
    while IFS= read -r line; do
      if [[ $line == '$ '* ]]; then
        [ -z "$command" ] || run_example "$command" "$shown"
        command=${line#'$ '}
        shown=
        count=$((count + 1))
      elif [[ $command == *[\\\|] || $command == *do ]]; then
        command+=$'\n'$line
      else
        shown+=${shown:+$'\n'}$line
      fi
    done < <(examples "$file")
    [ -z "$command" ] || run_example "$command" "$shown"
    end_server
    cd "$BATS_TEST_TMPDIR"
    rm -r "$examples"
  done
  [ $count -ge 25 ]
}

@test "the example of leafctl.yaml(5) is a configuration that is taken" {
  examples "$MANUAL/man5/leafctl.yaml.5" >"$BATS_TEST_TMPDIR/leafctl.yaml"
  unset LEAFCTL_STORE
  expect 0 leafctl show-config --config "$BATS_TEST_TMPDIR/leafctl.yaml"
  contains "$output" $'store\tservice=ids'
  contains "$output" $'worker_id\tweb-1=1,web-2=2'
}

@test "help shows the page on a terminal, and the text elsewhere" {
  export MANPATH=$MANUAL MANPAGER=cat TERM=dumb
  local command
  for command in 'leafctl help tags update' 'leafctl help tags'; do
    on_terminal "$command"
    same 'status' 0 "$status"
    contains "$output" 'LEAFCTL-TAGS(1)'
    lacks "$output" 'Usage:'
  done
  on_terminal 'leafctl help'
  contains "$output" 'LEAFCTL(1)'
  expect 0 leafctl help tags update
  contains "$output" 'Usage: leafctl tags update TAG'
}

@test "help prints the text where man or the page is missing, and names what is no command" {
  MANPATH=/nonexistent on_terminal 'leafctl help next'
  same 'status' 0 "$status"
  contains "$output" 'Usage: leafctl next'
  lacks "$output" 'No manual entry'
  on_terminal "PATH=$(dirname "$(command -v leafctl)") leafctl help next"
  contains "$output" 'Usage: leafctl next'
  MANPATH=$MANUAL on_terminal 'leafctl help nxt'
  same 'status' 2 "$status"
  contains "$output" "unknown command 'nxt'"
}

@test "the unit in leafctl-operations(7) is one that systemd takes" {
  command -v systemd-analyze >/dev/null || skip 'there is no systemd'
  local unit=$BATS_TEST_TMPDIR/invoices.service
  mandoc -T ascii -O width=500 "$MANUAL/man7/leafctl-operations.7" 2>/dev/null | col -bx |
    awk '/\[Unit\]/ { shown = 1 } shown && /^ *A service that runs for long/ { exit } shown { sub(/^ +/, ""); print }' >"$unit"
  for line in KillMode=process RuntimeDirectoryMode=0700 RuntimeDirectoryPreserve=yes; do contains "$(<"$unit")" "$line"; done
  sed -i 's,^ExecStart=.*,ExecStart=/bin/true,' "$unit"
  expect 0 systemd-analyze verify --man=no "$unit"
  # It only warns of what it does not know.
  lacks "$stderr" "invoices.service:"
}
