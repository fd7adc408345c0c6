#!/usr/bin/env bats
# scripts/abi on a copy of the header that was changed as each case says.

setup() {
  project=$BATS_TEST_DIRNAME/../..
  copy=$BATS_TEST_TMPDIR/project
  mkdir -p "$copy/lib" "$copy/tests"
  cp -r "$project/scripts" "$copy"
  cp -r "$project/lib/include" "$project/lib/leaf.map" "$copy/lib"
  cp -r "$project/tests/abi" "$copy/tests"
  header=$copy/lib/include/leaf/leaf.h
}

# change OLD NEW: in the copy of the header, where OLD has to be.
change() {
  grep -qF "$1" "$header"
  OLD=$1 NEW=$2 perl -0pi -e 's/\Q$ENV{OLD}\E/$ENV{NEW}/' "$header"
}

@test "the header goes with the last release" {
  "$copy/scripts/abi"
}

@test "new functions, and new members at the end of a struct with a size, break nobody" {
  change 'LEAF_API const char* leaf_version(void);' \
    'LEAF_API const char* leaf_version(void); LEAF_API int leaf_new(leaf_tag* tag);'
  change '} leaf_options;' 'int64_t more; } leaf_options;'
  change '} leaf_new_tag;' 'int64_t more; } leaf_new_tag;'
  "$copy/scripts/abi"
}

@test "a function that is gone or takes something else is found" {
  change 'LEAF_API const char* leaf_version(void);' ''
  run "$copy/scripts/abi"
  [ "$status" -eq 1 ]
  [[ $output == *leaf_version* ]]
  change 'leaf_tag_try_next(leaf_tag* tag, int64_t* id)' 'leaf_tag_try_next(leaf_tag* tag, int32_t* id)'
  run "$copy/scripts/abi"
  [ "$status" -eq 1 ]
  [[ $output == *leaf_tag_try_next* ]]
}

@test "a member in between, a struct without a size that grows, and a number with another meaning are found" {
  change 'size_t size;  ///< sizeof(leaf_new_tag)' 'size_t size; int64_t more;'
  run "$copy/scripts/abi"
  [ "$status" -eq 1 ]
  cp "$project/lib/include/leaf/leaf.h" "$header"
  change '} leaf_range;' 'int64_t more; } leaf_range;'
  run "$copy/scripts/abi"
  [ "$status" -eq 1 ]
  cp "$project/lib/include/leaf/leaf.h" "$header"
  change 'LEAF_REFUSED = 5' 'LEAF_REFUSED = 7'
  run "$copy/scripts/abi"
  [ "$status" -eq 1 ]
}

@test "the library exports what the header declares in C, and nothing else" {
  declared=$(cc -E -P "$header" | tr '\n' ' ' | grep -o '__attribute__((visibility("default"))) [^;]*;' |
    grep -o 'leaf_[a-z_]*(' | tr -d '(' | sort)
  exported=$(nm -D --defined-only --with-symbol-versions "$LIBLEAF" | sed -n 's/.* T \(leaf_[a-z_]*\)@@LEAF_C_0$/\1/p' | sort)
  [ -n "$declared" ]
  diff <(echo "$declared") <(echo "$exported")
}
