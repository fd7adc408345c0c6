# What of the builtin `leaf` is zsh's own: how it is loaded, its kinds of variables, what it exports, its files.
# shellcheck disable=SC2016 # scripts for the other shell
load support

@test "many are an array, and an array's elements and integers are variables" {
  in_shell 0 'leaf next order -n 3 -v ids; typeset -p ids
    leaf next order -n 1 -v ids; typeset -p ids
    leaf next order -v "ids[3]"; typeset -p ids
    integer number; leaf next order -v number; typeset -p number
    f() { local id; leaf next order -v id; echo "$id"; }; f; echo "[${id-unset}]"
    ids=(1 2); leaf next order -v ids; typeset -p ids
    setopt ksh_arrays; leaf next order -n 2 -v ids; echo "${ids[0]}"
    leaf next -vid order; echo "$id"'
  prints "typeset -a ids=( 1 2 3 )
typeset -a ids=( 4 )
typeset -a ids=( 4 '' 5 )
typeset -i number=6
7
[unset]
typeset ids=8
9
11"
}

@test "a variable that would change an ID is refused, and costs none" {
  prime order
  for kind in 'float name' 'float -F name' 'typeset -Z 3 name' 'typeset -R 3 name' 'typeset -L 3 name' \
    'integer -i 8 -Z 3 name' 'typeset -a -Z 3 name' 'typeset -A -Z 3 name'; do
    in_shell 2 "$kind; leaf next order -v name"
    contains "$stderr" 'name: a variable with this type or width would change an ID'
  done
  in_shell 2 'typeset -Z 3 name; leaf next --snowflake -v name'
  in_shell 2 'typeset -a -R 3 names; leaf next order -n 2 -v names'
  in_shell 2 'typeset -a -R 3 names; leaf next order -v "names[1]"'
  in_shell 2 'typeset -A -L 3 parts; leaf decode 12 -v parts'
  in_shell 2 'float parts; leaf decode 12 -v parts'
  in_shell 1 'typeset -A names; leaf next order -n 2 -v names'
  in_shell 1 'typeset -T ONE one; leaf next order -n 2 -v ONE'
  in_shell 1 'leaf next order -n 2 -v HOME'
  in_shell 1 'zmodload zsh/parameter; leaf next order -v options'
  # None of these was drawn.
  same 'the next' 2 "$(leafctl next order)"
  in_shell 0 'typeset -l small; integer -i 16 number; f() { float id; g }; g() { local id; leaf next order -v id; echo $id }
    leaf next order -v small; leaf next order -v number; echo $small $((number)); f'
  prints $'3 4\n5'
}

@test "a local that was unset may be assigned to, whatever it was" {
  in_shell 0 'f() { local -A ids; unset ids; leaf next order -n 2 -v ids; echo $ids }; f
    g() { local -F id; unset id; leaf next order -v id; echo $id }; g'
  prints $'1 2\n3'
}

@test "what is written in another script than ASCII comes and goes as it is" {
  in_shell 0 'leaf next order --template "№ {id} – äöü" -v text; echo "$text"
    leaf next order --template "№ {id} – äöü"'
  prints $'№ 1 – äöü\n№ 2 – äöü'
  in_shell 2 'leaf next "törder"'
  contains "$stderr" 't\xc3\xb6rder'
}

@test "names of variables and subscripts may be in any script" {
  prime order
  export LC_ALL=C.UTF-8
  in_shell 0 'typeset -A map; key=Ärger
    leaf next order -v "map[Größe]"; leaf next order -v "map[日本]"; leaf next order -v "map[\$key]"
    echo "$map[Größe] $map[日本] $map[Ärger] ${#map}"
    leaf next order -v Größe; leaf next -v日本 order; echo "$Größe $日本"
    leaf next order -n 2 -v Öl; echo "$#Öl: $Öl"
    leaf decode 12 -v Überblick; echo "$Überblick[id]"
    typeset -a Äste; leaf next order -v "Äste[2]"; echo "$Äste[2]"
    leaf next order --template "à {id} ß" -v Größe; echo "$Größe"
    leaf next order -n 1 --template "日 {id}" -v Öl; echo "$Öl"'
  prints $'2 3 4 3\n5 6\n2: 7 8\n12\n9\nà 10 ß\n日 11'
  for wrong in 'typeset -r Größe=1; leaf next order -v Größe' 'typeset -A Öl; leaf next order -n 2 -v Öl' \
    'typeset -a Öl; leaf decode 12 -v Öl'; do
    in_shell 1 "$wrong"
    [[ $stderr =~ (Größe|Öl) ]]
  done
  in_shell 2 'float Größe; leaf next order -v Größe'
  contains "$stderr" 'Größe: a variable with this type or width would change an ID'
  in_shell 2 'leaf next order -v "Größe["'
  contains "$stderr" 'not an identifier: Größe['
  in_shell 2 'leaf next order -v "“Größe”"'
  contains "$stderr" 'not an identifier: “Größe”'
  # None of these was drawn.
  same 'the next' 12 "$(leafctl next order)"
}

@test "a message names a file in any script" {
  export LC_ALL=C.UTF-8
  mkdir -p "à/lib/zsh/5"
  cp "$BUILTIN" "à/lib/zsh/5/"
  BUILTIN=$PWD/à/lib/zsh/5/${BUILTIN##*/} in_shell 1 'leaf tags list'
  contains "$stderr" "'$PWD/à/bin/leafctl' cannot be run: No such file or directory"
}

@test "help tells of it" {
  in_shell 2 'leaf --help'
  contains "$output" 'Draw unique 64-bit IDs, without a process.'
  contains "$output" '-v VAR'
  awk 'length > 84 { print "too wide: " $0; exit 1 }' <<<"$(grep -v '^leaf: ' <<<"$output")"
  in_shell 0 'whence -w leaf'
  prints 'leaf: builtin'
}

@test "it is unloaded and loaded again, as often as one likes, and a shell that has used it ends" {
  prime order
  in_shell 0 'for i in 1 2 3; do
      leaf next order
      zmodload -u leaf
      whence -w leaf
      zmodload leaf
    done
    leaf next order; zmodload -u leaf; exit 0'
  prints $'2\nleaf: none\n3\nleaf: none\n4\nleaf: none\n5'
}

@test "it is loaded when it is first called, if that is asked for" {
  expect 0 zsh -fc 'module_path=("${BUILTIN%/*}" $module_path); zmodload -F -a leaf b:leaf; leaf next order'
  prints 1
}

@test "what a script sets counts, exported or not" {
  unset LEAFCTL_STORE
  # In the place of the store that this machine may have.
  echo "store: sqlite:$PWD/none.db" >leafctl.yaml
  export LEAFCTL_CONFIG=$PWD/leafctl.yaml THERE=sqlite:$PWD/there.db
  leafctl -q --store "$THERE" init-db
  leafctl -q --store "$THERE" add-tag order --start 500
  in_shell 0 'LEAFCTL_STORE=$THERE leaf next order
    LEAFCTL_STORE=$THERE leaf next order -v id; echo "$id"
    LEAFCTL_STORE=$THERE
    leaf next order
    f() { local LEAFCTL_STORE=sqlite:none.db; leaf next order; echo "status $?"; }; f 2>/dev/null
    leaf next order
    leaf tags show order >shown
    unset LEAFCTL_STORE; leaf next order 2>/dev/null; echo "status $?"'
  prints $'500\n501\n502\nstatus 2\n503\nstatus 2'
}

@test "numbers that a script sets count too" {
  in_shell 0 'integer LEAFCTL_WORKER_ID=9
    leaf next --snowflake -v id; typeset -A parts; leaf decode "$id" -v parts; echo "$parts[worker]"'
  prints 9
}

@test "it finds leafctl beside other modules that were loaded before" {
  expect 0 zsh -fc 'module_path=("${BUILTIN%/*}" $module_path)
    zmodload zsh/datetime zsh/stat leaf; leaf next order; leaf tags list -q >tags'
  prints 1
}

@test "a trap that draws waits for the command that it interrupts" {
  prime order
  in_shell 0 'TRAPUSR1() { leaf next order -v inner; }
    for ((i = 0; i < 300; ++i)); do
      kill -USR1 $$
      leaf next order -v id
      echo "$id"
    done >ids
    echo "$inner" >>last'
  all_different 300 ids
  increasing ids
}

@test "files of a script and of the builtin do not meet" {
  prime order
  in_shell 0 'leaf next order -v id; leaf next --snowflake -v flake
    exec 3>three 4>four 5>five 9>nine; exec {own}>own
    leaf next order >&3; echo four >&4; echo own >&$own
    exec 3>&- 4>&- 5>&- 9>&- {own}>&-
    leaf next order -v id
    cat three four own'
  prints $'3\nfour\nown'
  same 'nothing else was written' '0 0' "$(stat -c %s five nine | xargs)"
  same 'the next' 5 "$(leafctl next order)"
}
