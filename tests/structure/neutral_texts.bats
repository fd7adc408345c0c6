# The library is embedded by other programs: what it says names what would help, and no command or option of leafctl. Those
# stand in cmd/terminal/remedy_text.cpp. lib/shell is no part of it, but a shell's command, with options of its own.

setup() { source_tree=$BATS_TEST_DIRNAME/../..; }

# partial_texts TREE: each text of its lib/ that names leafctl, one of its commands, or an option. Comments in SQL are none.
partial_texts() {
  cd "$1"
  find lib -path lib/shell -prune -o -name '*.[ch]pp' -print0 | LC_ALL=C sort -z | xargs -0 perl -0777 -ne '
    while (m{R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\x27(?:[^\x27\\\n]|\\.)\x27|//[^\n]*|/\*.*?\*/}gs) {
      my $text = $2 // $3 // next;
      print "$ARGV: $text\n" if $text =~ /\bleafctl (?=[a-z])|(?<!-)--(?=[a-z])|\b(?:init-db|add-tag|show-config)\b/;
    }'
}

@test "no text of the library names a command or an option of leafctl" {
  run partial_texts "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a text that names one is found, a comment is not" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/lib/store" "$tree/lib/shell"
  echo 'const char* help = "leafctl next --snowflake";' >"$tree/lib/shell/a.cpp"
  cat >"$tree/lib/store/a.cpp" <<'TEXTS'
const char quote = '"';  // not "--for us", nor 'leafctl next'
const char* a = "see 'leafctl doctor'";
const char* b = "postgresql://\" allow more with --timeout";
const char* c = R"(-- a comment
HINT = 'run init-db')";
const char* d = "\n-- a comment\n";
const char* e = "leafctl-operations(7) tells";
TEXTS
  run partial_texts "$tree"
  echo "$output"
  [ "$output" = "lib/store/a.cpp: see 'leafctl doctor'
lib/store/a.cpp: postgresql://\\\" allow more with --timeout
lib/store/a.cpp: -- a comment
HINT = 'run init-db'" ]
}
