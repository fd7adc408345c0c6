# The completions and the manual say just what the program has. leafctl_tree prints that from the declared commands.
load support

setup() {
  new_store
  source_tree=$BATS_TEST_DIRNAME/../..
  support=$source_tree/tests/support
  leafctl_tree >"$BATS_TEST_TMPDIR/tree"
  cd "$BATS_TEST_TMPDIR"
}

# of_tree AWK_PROGRAM [VARIABLE=VALUE...]: over the fields of the tree.
of_tree() {
  local program=$1
  shift
  awk -F '\t' -v OFS='\t' "$@" "$program" "$BATS_TEST_TMPDIR/tree"
}

# agree WHAT WANTED GOT: two files hold the same lines, in any order; shows those that are in one alone.
agree() {
  [ -s "$2" ] || { echo "nothing to compare with: $1"; return 1; }
  LC_ALL=C sort -u "$2" >"$2.sorted"
  LC_ALL=C sort -u "$3" >"$3.sorted"
  if ! diff --label 'what the program has' --label "$1" -u0 "$2.sorted" "$3.sorted"; then return 1; fi
}

# page NAME.SECTION: as a reader sees it, with no line broken.
page() { mandoc -T ascii -O width=500 "$MANUAL/man${1##*.}/$1" 2>/dev/null | col -bx; }

# entries SECTION: what its list explains, behind the name of its subsection, from the page on standard input.
entries() {
  awk -v section="$1" '
    /^[^ ]/ { in_section = $0 == section; part = "" }
    in_section && /^   [^ ]/ { part = substr($0, 4) }
    in_section && /^     [^ ]/ { print part "\t" substr($0, 6) }'
}

# long_options: of each line 'PART<TAB>ENTRY' whose entry begins with an option.
long_options() {
  awk -F '\t' -v OFS='\t' '$2 ~ /^-/ {
    while (match($2, /--[a-z][a-z-]*/)) {
      print $1, substr($2, RSTART, RLENGTH)
      $2 = substr($2, RSTART + RLENGTH)
    }
  }'
}

# proposes_all SHELL: every option of each command, and every command, and nothing else.
proposes_all() {
  local commands lines=() name
  mapfile -t commands < <(echo; of_tree '$1 == "command" { print $2 }')
  for name in "${commands[@]}"; do lines+=("leafctl ${name:+$name }-"); done
  of_tree '$1 == "option" { if ($2 == "") all[$3]; else own[$2] = own[$2] " " $3 }
    $1 == "command" { commands[$2] }
    END {
      commands[""]
      for (command in commands) {
        line = "leafctl " (command == "" ? "" : command " ") "-"
        for (option in all) print line, option
        count = split(own[command], options, " ")
        for (i = 1; i <= count; ++i) print line, options[i]
      }
    }' >wanted
  timeout 300 "$support/$1_proposals" "$source_tree/completions" "${lines[@]}" | grep -P '\t--' >got
  agree "the options that $1 proposes" wanted got

  of_tree '$1 == "command" { blank = match($2, / [^ ]*$/)
    print "leafctl " substr($2, 1, blank), blank ? substr($2, blank + 1) : $2 }' >wanted
  mapfile -t lines < <(cut -f 1 wanted | sort -u)
  timeout 300 "$support/$1_proposals" "$source_tree/completions" "${lines[@]}" >got
  agree "the commands that $1 proposes" wanted got
}

@test "bash proposes every command and option" { proposes_all bash; }

@test "zsh proposes every command and option" { proposes_all zsh; }

@test "fish proposes every command and option" { proposes_all fish; }

@test "every command has a page, and every page a command" {
  of_tree '$1 == "command" { split($2, words, " "); print "leafctl-" words[1] ".1" }' >wanted
  (cd "$MANUAL/man1" && ls leafctl-*) >got
  agree 'the pages' wanted got
}

@test "leafctl(1) lists the commands" {
  of_tree '$1 == "command" && $2 !~ / / { print $2 }' >wanted
  page leafctl.1 | entries DESCRIPTION | awk -F '\t' '$1 == "Commands" { sub(/ .*/, "", $2); print $2 }' >got
  agree 'the commands in leafctl(1)' wanted got
}

@test "each page explains every option of its commands, and no other" {
  of_tree '$1 == "option" { print $2, $3 }' >wanted
  page leafctl.1 | entries OPTIONS | long_options >got
  local name
  for name in $(of_tree '$1 == "command" { split($2, words, " "); print words[1] }' | sort -u); do
    page "leafctl-$name.1" | entries OPTIONS | long_options |
      awk -F '\t' -v OFS='\t' -v name="$name" '{ print $1 == "" ? name : $1, $2 }' >>got
  done
  agree 'the options in the manual' wanted got
}

@test "no page speaks of an option that does not exist" {
  of_tree '$1 == "option" { print $3 }' | sort -u >options
  local file
  for file in "$MANUAL"/man*/*; do
    # Those of other programs are their own.
    page "$(basename "$file")" | grep -vE '^ *(pg_[a-z]+|psql|docker run|systemd-tmpfiles) ' | grep -oE -- '(^|[^-a-z])--[a-z][a-z-]*' | sed 's/^[^-]//' | sort -u >mentioned
    same "options in $file that do not exist" '' "$(comm -13 options mentioned)"
  done
}

@test "the manual explains every setting and its variable, and every layout" {
  of_tree '$1 == "setting" { print $2 }' >wanted
  page leafctl.yaml.5 | entries DESCRIPTION | awk -F '\t' '$1 == "Keys" && $2 ~ /^[a-z_]+( |$)/ {
    sub(/ .*/, "", $2); print $2 }' >got
  agree 'the keys in leafctl.yaml(5)' wanted got

  { of_tree '$1 == "setting" { print $3 }'; echo LEAFCTL_CONFIG; } >wanted
  page leafctl.1 | entries ENVIRONMENT | grep -oE 'LEAFCTL_[A-Z_]+' >got
  agree 'the variables in leafctl(1)' wanted got

  of_tree '$1 == "layout" { print $2 " " $3 }' >wanted
  page leafctl-decode.1 | grep -E '^ +[a-z]+ +time:' | awk '{ print $1 " " $2 }' >got
  agree 'the layouts in leafctl-decode(1)' wanted got
}

@test "the completion for people proposes no hidden command" {
  lacks "$(leafctl complete -- '')" complete
}

# commands_named: 'leafctl ...' in the texts of the program, a line each, as "FILE<TAB>words".
commands_named() {
  find "$source_tree/lib" "$source_tree/cmd" -name '*.cpp' -print0 | xargs -0 perl -0777 -ne '
    s{^\s*//.*$}{}gm;
    s/"\s*\n\s*"//g;
    while (/"((?:[^"\\\n]|\\.)*)"/g) {
      my $text = $1;
      print "$ARGV\t$1\n" while $text =~ /\x27leafctl ([a-z][^\x27]*)\x27/g;
    }'
}

@test "each command that a text of the program names is there, with the options that it is to be given" {
  commands_named >named
  [ "$(wc -l <named)" -gt 40 ]
  awk -F '\t' '
    FILENAME == "tree" && $1 == "command" { is_command[$2] }
    FILENAME == "tree" && $1 == "option" { is_option[$2, $3] }
    FILENAME == "named" {
      count = split($2, words, " ")
      command = words[1]
      if (count > 1 && (command " " words[2]) in is_command) command = command " " words[2]
      if (!(command in is_command)) { print $1 ": no command: leafctl " $2; next }
      for (i = 1; i <= count; ++i) {
        option = words[i]
        sub(/[={].*/, "", option)
        if (option ~ /^--[a-z]/ && !((command, option) in is_option) && !(("", option) in is_option))
          print $1 ": no option: leafctl " $2
      }
    }' tree named >wrong
  cat wrong
  [ ! -s wrong ]
}

# hints: those of the source, a line each, as "FILE<TAB>text": texts marked _hint, and the HINT of an error raised in SQL.
hints() {
  cd "$source_tree"
  find lib cmd migrations -name '*.[ch]pp' -o -name '*.sql' | xargs perl -0777 -ne '
    while (/((?:"(?:[^"\\\n]|\\.)+"\s*)+)(?<=")_hint/g) {
      my $text = $1 =~ s/"\s*"//gr;
      print "$ARGV\t", $text =~ s/^"|"$//gr, "\n";
    }
    while (/HINT = (?:format\()?(\x27(?:[^\x27]|\x27\x27|\x27\s+\x27)*\x27)/g) {
      my $text = $1 =~ s/\x27\s+\x27//gr;
      print "$ARGV\t", ($text =~ s/^\x27|\x27$//gr) =~ s/\x27\x27/\x27/gr, "\n";
    }'
}

@test "every hint is listed with the test that does what it says, and every such test is there" {
  local list=$BATS_TEST_DIRNAME/hints.tsv
  (hints) >got
  [ "$(wc -l <got)" -gt 200 ]
  grep -v '^#' "$list" | cut -f 1,2 >wanted
  agree 'hints.tsv' got wanted
  grep -v '^#' "$list" | awk -F '\t' 'NF != 5 || $4 == "" { print "not five fields: " $0; next }
    $5 != ($3 == "-" ? "-" : "followed") && ($3 == "-" || $5 !~ /^shown: ./) { print "followed or not: " $0 }' >wrong
  local file name
  while IFS=$'\t' read -r file name; do
    if ! grep -qF -e "@test \"$name\"" -e "@test '$name'" -e "\"$name\"" "$BATS_TEST_DIRNAME/../$file"; then
      echo "no test '$name' in $file" >>wrong
    fi
  done < <(grep -v '^#' "$list" | awk -F '\t' '$3 != "-"' | cut -f 3,4 | sort -u)
  cat wrong
  [ ! -s wrong ]
}

# unmarked_hints: where a hint is given as a text that is not marked: behind the code and the text of an error, behind the
# state and the detail of a check, behind the text of a warning.
unmarked_hints() {
  cd "$source_tree"
  find lib cmd -name '*.cpp' -print0 | xargs -0 perl -0777 -ne '
    BEGIN {
      $text = qr/"(?:[^"\\\n]|\\.)*"/;
      $piece = qr/(?:[^(){},"\x27]|$text|\x27(?:[^\x27\\]|\\.)+\x27|\((?:(??{$piece})|,)*\)|\{(?:(??{$piece})|,)*\})/;
    }
    s{//.*$}{}gm;
    while (/(?:ErrorCode::\w+\s*,$piece+,|CheckState::(?:warning|failed),$piece+,|messages\.warning\($piece+,)($piece+)/g) {
      my $hint = $1;
      print "$ARGV: $hint\n" if $hint =~ /"[^"\n]* [^"\n]*"/ && $hint !~ /_hint\b/;
    }'
}

@test "no hint goes unmarked" {
  same 'hints that are not marked with _hint' '' "$(unmarked_hints)"
}

@test "the commands that hints name with --group are those that take it, but for init-db and benchmarks" {
  sed -n '/takes_group{/,/};/p' "$source_tree/cmd/terminal/hint_text.cpp" | grep -o '"[^"]*"' | tr -d '"' >named
  of_tree '$1 == "option" && $3 == "--group" && $2 !~ /^(init-db|show-config|bench .*)$/ { print $2 }' >taking
  agree 'cmd/terminal/hint_text.cpp' taking named
}
