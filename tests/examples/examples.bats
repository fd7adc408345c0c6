# The programs of lib/examples, on the C API: as they lie there, and as libleaf(3) shows them.
load ../cli/support
load ../cli/host_support

setup() { new_order_store; }
teardown() { end_host_test; }

need() { command -v "$1" >/dev/null || skip "there is no $1"; }

# draws COMMAND...: with a tag it prints the next ID and a snowflake, without the tag it says why not.
draws() {
  local id
  id=$(leafctl next order)
  expect 0 "$@" order
  same 'the ID' $((id + 1)) "${lines[0]}"
  leafctl decode "${lines[1]}" >decoded
  same 'lines' 2 "${#lines[@]}"
  expect 4 "$@" nope
  contains "$stderr" "tag 'nope' does not exist"
  same 'the next' $((id + 2)) "$(leafctl next order)"
  run --separate-stderr "$@"
  [ "$status" -lt 128 ] && [ "$status" -gt 0 ]
}

# shown FILE: the manual shows it as it is.
shown() {
  awk -v first="$(head -n 1 "$1")" '
    /^\.Ed$/ { is_there = 0 }
    { sub(/^\\&/, ""); gsub(/\\e/, "\\") }
    $0 == first { is_there = 1 }
    is_there { print }' "$MANUAL/man3/libleaf.3" >page
  diff "$1" page
}

@test "Ruby, by Fiddle" {
  shown "$EXAMPLES/draw.rb"
  need ruby
  draws ruby "$EXAMPLES/draw.rb"
}

@test "Rust, by extern C" {
  shown "$EXAMPLES/draw.rs"
  local rustc
  # One of rustup's may stand for none.
  for rustc in $(type -ap rustc) ''; do "$rustc" --version >version 2>&1 && break; done
  [ -n "$rustc" ] || skip 'there is no rustc'
  "$rustc" --edition 2021 -D warnings -L "$LIBRARY" -o draw "$EXAMPLES/draw.rs"
  draws ./draw
}

@test "Java, by JNA" {
  shown "$EXAMPLES/Draw.java"
  need javac
  local jna=/usr/share/java/jna.jar
  [ -e $jna ] || skip 'there is no JNA'
  javac -cp $jna -d . "$EXAMPLES/Draw.java"
  draws java -cp "$jna:." Draw
}
