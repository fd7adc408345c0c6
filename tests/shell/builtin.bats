# The builtin `leaf` in any shell: what it draws, where it puts it, and what it leaves to leafctl.
# shellcheck disable=SC2016 # scripts for the other shell
load support

case $LEAF_SHELL in
  bash)
    readonly_says='id: readonly variable'
    name_says='not a valid identifier'
    from_coprocess='<&"${COPROC[0]}"'
    to_coprocess='>&"${COPROC[1]}"'
    job_control='set -m'
    ;;
  zsh)
    readonly_says='read-only variable: id'
    name_says='not an identifier'
    from_coprocess='<&p'
    to_coprocess='>&p'
    job_control=:  # which only a shell on a terminal has
    ;;
esac

# traced SCRIPT: as in_shell 0; the processes that it starts are counted in $processes.
traced() {
  write_script "$1"
  expect 0 strace -f -qq -o trace -e trace=fork,vfork,clone,clone3 "${shell[@]}" script
  processes=$(grep -cE '\b(v?fork|clone3?)\(' trace || true)
}

on_sqlite() { [ "$TEST_STORE" = sqlite ] || skip 'the same with every store'; }

@test "an ID is assigned, or printed, and comes where leafctl left off" {
  same 'before' 1 "$(leafctl next order)"
  in_shell 0 'leaf next order -v id; echo "$id"
    leaf next order
    leaf next order --count=2
    leaf next -n2 -- order'
  prints $'2\n3\n4\n5\n6\n7'
  same 'after' 8 "$(leafctl next order)"
}

@test "buffered IDs are drawn without a process" {
  prime order
  leafctl -q next --snowflake >/dev/null
  traced 'for i in {1..50}; do leaf next order -v id; leaf next --snowflake -v flake; done
    leaf decode "$flake" -v parts
    echo "$id"'
  prints 51
  same 'processes' 0 "$processes"
}

@test "more than memory is to give, and other forms, come from leafctl" {
  in_shell 0 'leaf next order -n 2500 -v ids; set -- "${ids[@]}"; echo "$#"; echo "$1"; shift 2499; echo "$1"
    leaf next order --template "O-{id:>06}" -v text; echo "$text"
    leaf next order --ranges -n 3 -v range; echo "${range[@]}"
    leaf next order --direct -n 1
    leaf tags list'
  same 'lines' 7 "${#lines[@]}"
  same 'the array' $'2500\n1\n2500' "$(printf '%s\n' "${lines[@]:0:3}")"
  same 'the form' O-002501 "${lines[3]}"
  same 'the range' $'2502\t2504' "${lines[4]}"
  contains "${lines[6]}" order
}

@test "another form that is configured is that of what is printed" {
  export LEAFCTL_OUTPUT=json
  prime order
  in_shell 0 'leaf next order; leaf next order -v id; echo "$id"'
  prints $'{"tag":"order","id":"2"}\n3'
}

@test "what is assigned has the same form, whether it is drawn from memory or from the store" {
  export LEAFCTL_OUTPUT=json
  in_shell 0 'leaf next order -v first; leaf next order -v second; echo "$first $second"
    leaf next order -n 2500 -v many; echo "${#many[@]} ${many[@]:0:1}"
    leaf next order -o json -v id; echo "$id"'
  prints $'1 2\n2500 3\n{"tag":"order","id":"2503"}'
}

@test "snowflake IDs increase, and are those of the host's worker" {
  in_shell 0 'for i in {1..200}; do leaf next --snowflake -v id; echo "$id"; done >ids
    leaf next --snowflake -n 50 -v more; printf "%s\n" "${more[@]}" >>ids
    leaf next --snowflake >>ids'
  leafctl next --snowflake >>ids
  all_different 252 ids
  increasing ids
  same 'workers' 1 "$(leafctl workers list | wc -l)"
}

@test "a worker that is pinned is the one that is used, and a layout that differs is refused" {
  export LEAFCTL_WORKER_ID=7
  in_shell 0 'for i in 1 2 3; do leaf next --snowflake -v id; leaf decode "$id" -v parts; echo "${parts[worker]}"; done'
  prints $'7\n7\n7'
  in_shell 2 'LEAFCTL_LAYOUT=41,11,11 leaf next --snowflake'
  contains "$stderr" 'leafctl: '
  contains "$stderr" 'layout'
}

@test "decode fills an associative array with what leafctl prints" {
  local wanted
  wanted=$(leafctl decode 1256557484213448722 -o json | jq -r '[.id, .layout, .time, .unix_ms, .worker, .sequence] | @tsv')
  in_shell 0 'leaf decode 1256557484213448722 -v parts
    printf "%s\t" "${parts[id]}" "${parts[layout]}" "${parts[time]}" "${parts[unix_ms]}" "${parts[worker]}"
    echo "${parts[sequence]} ${#parts[@]}"'
  prints "$wanted 6"
  in_shell 0 'leaf decode 1256557484213448722'
  prints "$(leafctl decode 1256557484213448722)"
  LEAFCTL_LAYOUT=discord in_shell 0 'leaf decode 175928847299117063 -v parts; echo "${parts[process]} ${parts[time]}"'
  prints '0 2016-04-30T11:18:25.796Z'
  in_shell 2 'leaf decode -v parts 12x'
  contains "$stderr" "leafctl: '12x'"
  in_shell 2 'leaf decode -v parts 0012'
  contains "$stderr" "leafctl: '0012' is not an ID: it has zeros in front"
  in_shell 2 'leaf decode -v parts 175928847299117063 --layout discord'
  contains "$stderr" 'to choose a layout, set LEAFCTL_LAYOUT'
  in_shell 2 'echo 12 | leaf decode -v parts'
  in_shell 1 'parts=(1 2); leaf decode -v parts 12'
  contains "$stderr" 'cannot convert indexed to associative'
}

@test "each failure has leafctl's status, message and hint, and assigns nothing" {
  on_sqlite
  in_shell 4 'id=old; leaf next nope -v id; ended=$?; echo "$id"; exit $ended'
  prints old
  says "leafctl: tag 'nope' does not exist
hint: create it with 'leafctl add-tag nope'"
  in_shell 2 'leaf next order -n 0'
  contains "$stderr" "leafctl: '-n'"
  in_shell 2 'leaf nxt order'
  contains "$stderr" "hint: did you mean 'next'?"
  LEAFCTL_STORE=postgresql://localhost:1/none LEAFCTL_TIMEOUT=0 in_shell 3 'leaf next order -v id'
  contains "$stderr" 'leafctl: '
  leafctl -q add-tag few --limit 2
  in_shell 6 'leaf next few -v id && leaf next few -v id && leaf next few -v id'
  contains "$stderr" 'hint: '
  chmod 0755 "$LEAFCTL_RUNTIME_DIR"
  in_shell 5 'leaf next order -v id'
  contains "$stderr" 'has mode 0755, not 0700'
  chmod 0700 "$LEAFCTL_RUNTIME_DIR"
  echo 'tiemout: 3s' >leafctl.yaml
  LEAFCTL_CONFIG=leafctl.yaml in_shell 2 'leaf next order -v id'
  contains "$stderr" "'tiemout'"
  in_shell 1 'leaf next order >/dev/full'
  contains "$stderr" 'o space left on device'
}

@test "a variable that cannot be assigned to costs no ID" {
  prime order
  in_shell 1 'readonly id=5; leaf next order -v id'
  contains "$stderr" "$readonly_says"
  for name in 1x 'a b' '' 'a[' x-y; do
    NAME=$name in_shell 2 'leaf next order -v "$NAME"'
    contains "$stderr" "$name_says"
  done
  in_shell 2 'leaf next order -n 2 -v "a[1]"'
  in_shell 2 'leaf next order -v'
  contains "$stderr" 'option requires an argument'
  in_shell 2 'leaf'
  contains "$stderr" 'leaf: usage: '
  in_shell 1 'declare -A map; leaf next order -n 2 -v map'
  contains "$stderr" 'cannot convert associative to indexed'
  same 'the next' 2 "$(leafctl next order)"
}

@test "set -e, set -u and traps are the shell's" {
  in_shell 4 'set -eu; trap "echo ERR" ERR; trap "leaf next order" EXIT; leaf next nope 2>/dev/null; echo no'
  prints $'ERR\n1'
  in_shell 0 'set -e; if leaf next nope 2>/dev/null; then echo yes; fi; leaf next nope 2>/dev/null || echo "status $?"'
  prints 'status 4'
  in_shell 0 'trap "echo CHLD" CHLD; '"$job_control"'; leaf next order -n 3000 -v ids; leaf next order; echo end'
  lacks "$output" CHLD
}

@test "settings that change lead elsewhere at once" {
  leafctl -q --store "sqlite:$PWD/other.db" init-db
  leafctl -q --store "sqlite:$PWD/other.db" add-tag order --start 5000
  in_shell 0 'other=sqlite:$PWD/other.db
    leaf next order
    LEAFCTL_STORE=$other leaf next order
    leaf next order
    here=$LEAFCTL_STORE; LEAFCTL_STORE=$other; leaf next order
    LEAFCTL_STORE=$here; leaf next order
    mkdir -p sub; cp other.db sub/leaf.db
    export LEAFCTL_STORE=sqlite:./other.db
    leaf next order
    unset LEAFCTL_RUNTIME_DIR; export LEAFCTL_RUNTIME_DIR=$PWD/run2
    leaf next order
    LEAFCTL_STORE=$here leaf next --store "$other" order'
  prints $'1\n5000\n2\n5001\n3\n5002\n6000\n6001'
}

@test "a relative path begins where the shell is" {
  for folder in a b; do
    mkdir "$folder"
    leafctl -q --store "sqlite:$folder/leaf.db" init-db
  done
  leafctl -q --store sqlite:a/leaf.db add-tag order
  leafctl -q --store sqlite:b/leaf.db add-tag order --start 700
  in_shell 0 'export LEAFCTL_STORE=sqlite:leaf.db
    cd a; leaf next order; cd ../b; leaf next order; cd ../a; leaf next order; (cd ../b; leaf next order)'
  prints $'1\n700\n2\n701'
}

@test "a configuration file that is written later counts" {
  unset LEAFCTL_STORE LEAFCTL_RUNTIME_DIR
  mkdir -p "$HOME/.config/leafctl"
  for name in one two; do
    leafctl -q --store "sqlite:$PWD/$name.db" init-db
    leafctl -q --store "sqlite:$PWD/$name.db" add-tag order --start "${#name}00"
  done
  leafctl -q --store "sqlite:$PWD/two.db" tags update order --raise-to 900
  in_shell 0 'configure() { printf "store: sqlite:%s.db\nruntime_dir: %s\n" "$PWD/$1" "$PWD/run" >"$HOME/.config/leafctl/leafctl.yaml"; }
    configure one; leaf next order -v first; echo "$first"
    configure two
    for ((looks = 0; looks < 1000000; ++looks)); do
      leaf next order -v id
      [ "$id" -lt 900 ] || break
    done
    echo "$id"'
  prints $'300\n900'
}

@test "standard streams that are closed are not mistaken" {
  prime order
  in_shell 0 'exec <&-; leaf next order -v id; leaf next --snowflake -v flake; read -r line; echo "$id [$line]"'
  prints '2 []'
}

@test "children of the shell go on where it is: nothing twice, and each in order" {
  in_shell 0 'leaf next order -v id; echo "$id" >ids.0
    ( leaf next order; leaf next order ) >ids.1
    echo "$(leaf next order)" >ids.2
    leaf next order | cat >ids.3
    true | leaf next order >ids.4
    leaf next order >ids.5 & wait
    # It stays until its ID was read: its output is closed when it ends.
    coproc { leaf next order; read -r line; }
    read -r id '"$from_coprocess"'; echo "$id" >ids.6; echo '"$to_coprocess"'; wait
    cat <(leaf next order) >ids.7
    leaf next order >ids.8'
  cat ids.? >ids
  all_different 10 ids
  increasing ids
}

@test "a storm of children that draw, fetch and are killed repeats nothing" {
  leafctl -q tags update order --step 50
  in_shell 0 'leaf next order -v id; echo "$id" >ids.0
    for child in {1..8}; do
      for ((i = 0; i < 150; ++i)); do
        leaf next order || exit
        ((i % 10)) || ( leaf next order; leaf next order -n 3 -v more; printf "%s\n" "${more[@]}" ) || exit
      done >ids.$child & drawing+=($!)
    done
    for child in {1..4}; do
      ( while :; do leaf next order || exit; done ) >killed.$child & killed+=($!)
    done
    wait "${drawing[@]}"
    kill -9 "${killed[@]}"
    wait
    for ((i = 0; i < 50; ++i)); do leaf next order -v id; echo "$id"; done >ids.9'
  for file in ids.[1-8]; do
    same 'lines' $((150 + 15 * 4)) "$(wc -l <"$file")"
    increasing "$file"
  done
  # A line of theirs may be cut short.
  for file in killed.?; do head -c "$(stat -c %s "$file")" "$file" | sed '$ d' >"$file.whole"; done
  cat ids.? killed.?.whole >all
  same 'repeated' '' "$(sort all | uniq -d | head -n 3)"
  [ "$(sort -n ids.[1-8] | tail -n 1)" -lt "$(head -n 1 ids.9)" ]
}

@test "a fetch in the background holds neither a pipe nor the shell" {
  leafctl -q add-tag hurried --step 10
  in_shell 0 'for i in {1..60}; do id=$(leaf next hurried); echo "$id"; done'
  same 'IDs' "$(seq 60)" "$output"
}

@test "Ctrl-C ends a wait, and the trap runs" {
  lock_store
  write_script 'trap "echo trapped" INT
    echo $$ >pid
    LEAFCTL_TIMEOUT=20s leaf next order -v id
    echo "status $? [$id]"'
  setsid env --default-signal=INT "${shell[@]}" script >said 2>&1 &
  child=$!
  local looks=0
  until pgrep -P "$child" leafctl >looked; do
    looks=$((looks + 1))
    [ $looks -lt 2000 ] || { cat said; return 1; }
  done
  kill -INT -- "-$child"
  wait "$child" || true
  same 'what was said' $'trapped\nstatus 130 []' "$(cat said)"
}

@test "a store that is away is not noticed while IDs are buffered" {
  prime order
  leafctl -q next --snowflake >/dev/null
  lock_store
  in_shell 0 'for i in {1..20}; do leaf next order -v id || exit; leaf next --snowflake -v flake || exit; done; echo "$id"'
  prints 21
}

@test "a tag that is removed or raised is noticed at once" {
  prime order
  in_shell 0 'leaf next order; leafctl -q tags update order --raise-to 90000; leaf next order
    leafctl -q tags remove order --yes; leaf next order 2>/dev/null; echo "status $?"'
  prints $'2\n90000\nstatus 4'
}

@test "without a host's buffer every ID is asked for" {
  LEAFCTL_HOST_BUFFER=no in_shell 0 'leaf next order; leaf next order -v id; echo "$id"'
  prints $'1\n2'
}

@test "valgrind finds nothing in what the shell itself does" {
  command -v valgrind >/dev/null || skip 'there is no valgrind'
  prime order
  leafctl -q next --snowflake >/dev/null
  write_script 'leaf next order -v id; leaf next order -n 5 -v ids; leaf next order
    leaf next --snowflake -v flake; leaf decode "$flake" -v parts; leaf next order -n 2000 -v many
    ( leaf next order ); LEAFCTL_WORKER_NAME=other leaf next --snowflake -v flake; readonly id; leaf next order -v id
    exit 0'
  expect 0 valgrind -q --trace-children=no --error-exitcode=99 "${shell[@]}" script
  lacks "$stderr" '=='
}
