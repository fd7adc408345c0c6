# What a tab gives in the shells, and the hidden command that they ask.
load support

setup() {
  new_initialized_store
  leafctl -q add-tag order --description 'shop orders'
  leafctl -q add-tag invoice
  folder=$(realpath "$BATS_TEST_DIRNAME/../../completions")
  support=$BATS_TEST_DIRNAME/../support
  cd "$BATS_TEST_TMPDIR"
}
teardown() { remove_store; }

# soon COMMAND...: tries again where a busy machine kept the store from answering within the limit.
soon() {
  local try
  for try in 1 2 3 4 5 6 7 8 9; do "$@" && return; done
  "$@"
}

# candidates WORD...: words alone.
candidates() { leafctl complete -- "$@" | cut -f 1; }

proposes_live_values() {
  same 'tags' $'invoice\tnext ID 1, step 1000\norder\tshop orders' "$(leafctl complete -- next '')"
  same 'workers' $'0\tof billing' "$(leafctl complete -- workers release '')"
}

@test "tags and workers come from the store" {
  leafctl -q workers acquire --worker-name billing >/dev/null
  soon proposes_live_values
}

proposes_of_other_store() {
  same 'by option' other "$(candidates --store="sqlite:$PWD/other.db" next '')"
  same 'by the last one' other "$(candidates --store nonsense next --store "sqlite:$PWD/other.db" '')"
  same 'by file' other "$(LEAFCTL_STORE='' candidates --config other.yaml next '')"
}

@test "the store that the line names counts" {
  leafctl -q --store sqlite:other.db init-db
  leafctl -q --store sqlite:other.db add-tag other
  echo "store: sqlite:$PWD/other.db" >other.yaml
  soon proposes_of_other_store
}

@test "a tag that looks like an option is proposed behind -- only" {
  leafctl -q add-tag -- --odd
  proposed_behind_dashes() { same 'tags' $'--odd\ninvoice\norder' "$(candidates next -- '')"; }
  soon proposed_behind_dashes
  lacks "$(candidates next '')" --odd
}

@test "text from the store stays on its line and cannot move the cursor" {
  leafctl -q add-tag red --description $'\033[31mred\tor\nnot'
  one_quiet_line() { same 'the line' $'red\t\\x1b[31mred\\tor\\nnot' "$(leafctl complete -- next '' | grep red)"; }
  soon one_quiet_line
}

@test "nothing is said and nothing made where the store or the configuration fails" {
  mkdir empty
  cd empty
  local store
  for store in sqlite:missing.db sqlite:no/folder/leaf.db postgresql://127.0.0.1:1/ids service=nonsense nonsense; do
    LEAFCTL_STORE=$store expect 0 leafctl complete -- next ''
    prints ''
    says ''
  done
  LEAFCTL_TIMEOUT=soon expect 0 leafctl complete -- next ''
  prints ''
  says ''
  expect 0 leafctl complete -- next --config missing.yaml ''
  says ''
  expect 0 env -u LEAFCTL_STORE -u HOME leafctl complete -- next ''
  says ''
  expect 0 leafctl complete
  says ''
  same 'files that were made' '' "$(find . "$HOME" -mindepth 1)"
}

@test "options and commands need no store" {
  export LEAFCTL_STORE=nonsense
  same 'verbs' $'list\nshow\nupdate\nexport\nimport\nremove' "$(candidates tags '' | head -n 6)"
  contains "$(candidates next --)" --snowflake
}

@test "a store that does not answer holds up nobody" {
  leafctl -q --store sqlite:locked.db init-db
  coproc sqlite3 locked.db 3>&-
  printf 'BEGIN EXCLUSIVE;\nSELECT 1;\n' >&"${COPROC[1]}"
  read -r <&"${COPROC[0]}"
  # Without its own limit it would wait for an hour.
  expect 0 timeout 60 leafctl complete -- --store sqlite:locked.db --timeout 1h next ''
  prints ''
  says ''
  kill "$COPROC_PID"
}

# proposes SHELL LINE WORD...: those words, in any order.
proposes() {
  local shell=$1 line=$2
  shift 2
  same "$shell: $line" "$(printf '%s\n' "$@" | sort)" \
    "$(timeout 60 "$support/${shell}_proposals" "$folder" "$line" | cut -f 2 | sort)"
}

proposes_values() {
  proposes "$1" 'leafctl tags sh' show
  proposes "$1" 'leafctl tags show ' invoice order
  proposes "$1" 'leafctl -q next -n 5 o' order
  proposes "$1" 'leafctl workers recycle ' 0
  proposes "$1" 'leafctl decode --layout tw' twitter
  proposes "$1" 'leafctl next -o ' text json
  proposes "$1" 'leafctl help tags up' update
  proposes "$1" 'leafctl tags update order --limit ' none
}

@test "bash, zsh and fish propose commands, tags, workers, layouts and choices" {
  leafctl -q next --snowflake >/dev/null
  local shell
  for shell in bash zsh fish; do soon proposes_values $shell; done
}

# types SHELL_COMMAND: what a user types there, with tabs, runs as it would if it were typed in full.
types() {
  mkdir shell
  cd shell
  touch my.db
  echo 'timeout: 10s' >'my file.yaml'
  local keys=$'leafctl --store=sqlite:my.\tinit-d\t\n'
  keys+=$'leafctl --store sqlite:my.db add-t\tinvoice -o j\t\n'
  keys+=$'leafctl --config "my f\tshow-con\t-o js\t\n'
  keys+=$'exit\n'
  TERM=dumb on_terminal "timeout --foreground 60 $1" "$keys"
  contains "$output" "store 'sqlite:my.db', deployment"
  contains "$output" '{"tag":"invoice","next_id":"1"'
  contains "$output" '"value":"10s","origin":"my file.yaml:1"'
}

@test "a command line typed with tabs in bash runs" {
  types "bash --noprofile --rcfile '$folder/leafctl.bash' -i"
}

@test "a command line typed with tabs in zsh runs" {
  mkdir dot
  printf '%s\n' "fpath=('$folder' \$fpath)" 'autoload -Uz compinit' 'compinit -u -D' 'unset zle_bracketed_paste' >dot/.zshrc
  export ZDOTDIR=$PWD/dot
  types 'zsh -d -i'
}

@test "a command line typed with tabs in fish runs" {
  types "fish --no-config -C 'source $folder/leafctl.fish'"
}
