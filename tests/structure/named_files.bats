# What the documents for contributors name is there: files, folders, links, and functions of classes.

setup() {
  source_tree=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

documents=(ARCHITECTURE.md CONTRIBUTING.md docs/parts.md docs/dangers.md docs/decisions.md)

# named DOCUMENT PATTERN: what it has between backticks that looks like that.
named() { grep -oE "\`$2\`" "$1" | tr -d '`' | sort -u; }

# missing TREE: each name of the documents that nothing in the tree has. A path may lack its beginning.
missing() {
  cd "$1"
  local document name
  for document in "${documents[@]}"; do
    # NAME stands for whatever a newcomer adds.
    for name in $(named "$document" '[A-Za-z0-9_./-]+(/|\.(cpp|hpp|h|c|sql|js|py|go|php|tsv|txt|bats|md|json))'); do
      [[ $name == *NAME* ]] || find . -path ./build -prune -o -path "*/${name%/}" -print -quit | grep -q . || echo "$document: $name"
    done
    for name in $(named "$document" '[A-Z][A-Za-z]+::[a-z_]+(\(\))?'); do
      name=${name%()}
      grep -rqwE --include='*.[ch]pp' "${name##*::}" lib cmd && grep -rqw --include='*.[ch]pp' "${name%%::*}" lib cmd ||
        echo "$document: $name"
    done
    for name in $(grep -oE '\]\([^)#:]+\)' "$document" | sed 's/^](//; s/)$//'); do
      [ -e "$(dirname "$document")/$name" ] || echo "$document: $name"
    done
  done
}

@test "what the documents for contributors name is there" {
  run missing "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "a name that nothing has is found" {
  mkdir -p "$BATS_TEST_TMPDIR"/{docs,lib/range,cmd}
  cd "$BATS_TEST_TMPDIR"
  touch CONTRIBUTING.md docs/{parts,dangers,decisions}.md
  echo 'class Buffer { int take(); };' >lib/range/buffer.hpp
  printf '%s\n' '`range/buffer.hpp` and `lib/range/` and `range/gone.cpp`, `Buffer::take`, `Buffer::give()`' \
    '[parts](docs/parts.md), [more](docs/more.md), [elsewhere](https://example.org/x)' >ARCHITECTURE.md
  run missing .
  [ "$output" = 'ARCHITECTURE.md: range/gone.cpp
ARCHITECTURE.md: Buffer::give
ARCHITECTURE.md: docs/more.md' ]
}
