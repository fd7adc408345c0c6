# Includes go one way, from rooms.txt's foot to its head: so there are no cycles, and each room can be read without those below.

setup() { source_tree=$BATS_TEST_DIRNAME/../..; }

# forbidden TREE: each include of its lib/ and cmd/ that rooms.txt does not allow, and each folder that it does not know.
# In C a name without a folder is of the same folder.
forbidden() {
  cd "$1"
  grep -rn --include='*.?pp' --include='*.[ch]' '^#include "' lib cmd | sed -n '
    s|^\([^:]*\)/[^/:]*\.[ch]:[0-9]*:#include "\([^/"]*\)".*|\1 ./\2|p; t
    s|^\([^:]*\)/[^/:]*:[0-9]*:#include "\(.*\)".*|\1 \2|p' |
    awk -v rooms="$BATS_TEST_DIRNAME/rooms.txt" '
      BEGIN {
        while ((getline line <rooms) > 0) {
          if (line !~ /^#/ && split(line, words, " ") > 0) {
            known[words[1]] = 1
            allowed[words[1], words[1]] = 1
            for (i in words) {
              allowed[words[1], words[i]] = 1
              if (!(words[i] in known)) print words[1] " may include " words[i] ", which does not stand above it"
            }
          }
        }
      }
      $1 ~ /^lib\/include/ || $2 ~ /^leaf\// { next }
      !($1 in known) { print $1 " is not in rooms.txt" }
      {
        top = $1; sub(/\/.*/, "", top)
        to = top "/" $2; sub(/\/[^\/]*$/, "", to)
        if ($2 ~ /^\.\//) to = $1
        if (!(($1, to) in allowed)) print $1 " includes " $2
      }' | LC_ALL=C sort -u
}

@test "includes of the library and the program go one way" {
  run forbidden "$source_tree"
  echo "$output"
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "an include that points back, and a folder that nobody knows, are found" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/lib/store" "$tree/lib/attic" "$tree/cmd/text"
  printf '#include "leaf/store.hpp"\n#include "host/folder.hpp"\n' >"$tree/lib/store/a.cpp"
  printf '#include "text/counted.hpp"\n' >"$tree/lib/attic/a.hpp"
  printf '#include "text/counted.hpp"\n#include "commands.hpp"\n' >"$tree/cmd/text/a.cpp"
  mkdir -p "$tree/lib/node/src" "$tree/lib/ruby"
  printf '#include <leaf/leaf.h>\n#include "addon.h"\n#include "../../python/src/module.h"\n' >"$tree/lib/node/src/a.c"
  printf '#include "a.h"\n' >"$tree/lib/ruby/a.c"
  run forbidden "$tree"
  echo "$output"
  [ "$output" = 'cmd/text includes commands.hpp
lib/attic includes text/counted.hpp
lib/attic is not in rooms.txt
lib/node/src includes ../../python/src/module.h
lib/ruby includes ./a.h
lib/ruby is not in rooms.txt
lib/store includes host/folder.hpp' ]
}
