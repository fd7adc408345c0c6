# What of the builtin `leaf` is bash's own: how it is loaded, its kinds of variables, its files.
# shellcheck disable=SC2016 # scripts for the other shell
load support

@test "many are an array, and an array's elements and integers are variables" {
  in_shell 0 'leaf next order -n 3 -v ids; declare -p ids
    leaf next order -n 1 -v ids; declare -p ids
    leaf next order -v "ids[7]"; declare -p ids
    declare -i number; leaf next order -v number; declare -p number
    f() { local id; leaf next order -v id; echo "$id"; }; f; echo "[${id-unset}]"
    declare -n there=where; leaf next order -v there; echo "$where"
    leaf next -vid order; echo "$id"'
  prints 'declare -a ids=([0]="1" [1]="2" [2]="3")
declare -a ids=([0]="4")
declare -a ids=([0]="4" [7]="5")
declare -i number="6"
7
[unset]
8
9'
}

@test "a reference that leads to nothing that may be assigned is refused, and costs no ID" {
  prime order
  in_shell 0 'declare -ra fixed=(1 2); declare -a own=(1 2); readonly one=1
    declare -n to_fixed="fixed[1]" to_own="own[1]" to_one=one to_nothing loop=other other=loop deep="to_own[1]"
    leaf next order -v to_fixed; echo "status $?"
    leaf next order -v to_one; echo "status $?"
    leaf next order -v to_nothing; echo "status $?"
    leaf next order -n 2 -v to_fixed; echo "status $?"
    leaf next order -n 2 -v to_own; echo "status $?"
    leaf next order -v "to_own[1]"; echo "status $?"
    leaf next order -v deep; echo "status $?"
    leaf next order -v loop; echo "status $?"
    leaf next order -n 2 -v loop; echo "status $?"
    leaf next order -v GROUPS; echo "status $?"
    declare -A map; leaf next order -n 2 -v map; echo "status $?"
    leaf next order -v to_own; echo "status $? ${own[1]}"' 2>/dev/null
  prints $'status 1\nstatus 1\nstatus 2\nstatus 2\nstatus 2\nstatus 2\nstatus 2\nstatus 2\nstatus 2\nstatus 1\nstatus 1\nstatus 0 2'
}

@test "help tells of it" {
  in_shell 0 'help leaf; type -t leaf'
  contains "$output" 'Draw unique 64-bit IDs, without a process.'
  contains "$output" '-v VAR'
  same 'type' builtin "${lines[-1]}"
  awk 'length > 84 { print "too wide: " $0; exit 1 }' <<<"$(grep -v '^leaf: ' <<<"$output")"
}

@test "it is unloaded and loaded again, as often as one likes, and a shell that has used it ends" {
  prime order
  in_shell 0 'for i in 1 2 3; do
      leaf next order
      enable -d leaf
      type -t leaf
      enable -f "$BUILTIN" leaf
    done
    leaf next order; enable -d leaf; exit 0'
  prints $'2\n3\n4\n5'
}

@test "it is found by its name in the folders that bash searches" {
  BASH_LOADABLES_PATH=${BUILTIN%/*} expect 0 bash -c 'enable -f leaf.so leaf && leaf next order'
  prints 1
}

@test "files of a script and of the builtin do not meet" {
  prime order
  leafctl -q next --snowflake >/dev/null
  in_shell 0 'leaf next order -v id; leaf next --snowflake -v flake
    exec 3>three 4>four 5>five 9>nine 200>lock
    leaf next order >&3; echo four >&4
    exec 3>&- 4>&- 5>&- 9>&- 200>&-
    for fd in /proc/$BASHPID/fd/*; do
      fd=${fd##*/}
      if ((fd > 2 && fd != 255)); then eval "exec $fd>&-"; fi
    done
    exec 256>kept 257>kept2
    leaf next order -v id
    # So long that what was found is looked for anew.
    for ((start = SECONDS; SECONDS < start + 3; )); do leaf next order -v id; done
    echo kept >&256; echo kept2 >&257
    cat three four kept kept2'
  prints $'3\nfour\nkept\nkept2'
  expect 0 leafctl next order
  same 'nothing else was written' '0 0 0' "$(stat -c %s five nine lock | xargs)"
}
