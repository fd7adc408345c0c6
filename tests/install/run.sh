#!/usr/bin/env bash
# Installs BUILD into a folder of its own and uses what lies there: run.sh BUILD
# The files are exactly those in files.txt, with files_node.txt and the like for what else was built, and programs build
# against them through CMake and through pkg-config.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT
prefix=$work/usr

cmake --install "$build" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(dirname "$(find "$prefix" -name leaf.pc)")")
(cd "$prefix" && find . ! -type d | sed "s|^\./||; s|^lib/python3[^/]*/dist-packages/|PYTHONDIR/|; /^lib.\(systemd\|sysusers.d\|tmpfiles.d\|bash\)/! s|^${libdir#"$prefix"/}/|LIBDIR/|; s|Targets-[a-z]*.cmake|Targets-CONFIG.cmake|; s|^LIBDIR/zsh/[^/]*/|LIBDIR/zsh/VERSION/|" | LC_ALL=C sort) > "$work/files"
lists=("$here/files.txt")
for part in bash python node go php serve zsh; do
  if grep -q "^LEAF_${part^^}:BOOL=ON" "$build/CMakeCache.txt"; then lists+=("$here/files_$part.txt"); fi
done
LC_ALL=C sort -m "${lists[@]}" | diff - "$work/files" || { echo "installed files differ from files.txt" >&2; exit 1; }

symbols=$(nm -DC --defined-only "$libdir/libleaf.so" | awk '$2 ~ /[TDBRV]/' | cut -c20- | sed 's/@@.*//' |
  grep -vE '^(leaf::|(typeinfo|typeinfo name|vtable) for leaf::)' |
  grep -vxE "$(sed -n 's/^LEAF_API.*[ *]\(leaf_[a-z_]*\)(.*/\1/p' "$prefix/include/leaf/leaf.h" | paste -sd '|')" || true)
[ -z "$symbols" ] || { echo "libleaf.so shows more than leaf:: and what leaf.h declares: $symbols" >&2; exit 1; }

# expect OUTPUT COMMAND...
expect() {
  local expected=$1 got
  shift
  got=$("$@")
  [ "$got" = "$expected" ] || { printf "'%s' printed:\n%s\nnot:\n%s\n" "$*" "$got" "$expected" >&2; exit 1; }
}

version=$(sed -n 's/^Version: //p' "$libdir/pkgconfig/leaf.pc")
expect "leafctl $version" "$prefix/bin/leafctl" --version

cmake -G Ninja -S "$here/consumer" -B "$work/with-cmake" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/with-cmake" >/dev/null
ids=$(printf '1\n2\n3\nlibleaf %s' "$version")
expect "$ids" "$work/with-cmake/consumer" "sqlite:$work/a.db"

# leaf.pc goes with its prefix: a second one of the same build, with other folders in its path, leads to itself.
other=$work/opt/leaf
cmake --install "$build" --prefix "$other" >/dev/null
for root in "$other" "$prefix"; do
  folder=$root/${libdir#"$prefix"/}
  PKG_CONFIG_PATH=$folder/pkgconfig
  export PKG_CONFIG_PATH
  expect "$folder" realpath "$(pkg-config --variable=libdir leaf)"
  expect "$root/include" realpath "$(pkg-config --variable=includedir leaf)"
  flags=$(pkg-config --cflags --libs leaf)
  # shellcheck disable=SC2086
  "${CXX:-c++}" -std=c++20 "$here/consumer/main.cpp" $flags -Wl,-rpath,"$folder" -Wl,--trace -MD -MF "$work/read" \
    -o "$work/with-pkg-config" >"$work/linked"
  expect "$folder/libleaf.so" realpath --no-symlinks "$(grep -m 1 -o '[^ ]*/libleaf\.so' "$work/linked")"
  expect "$root/include/leaf/store.hpp" realpath "$(grep -m 1 -o '[^ ]*/leaf/store\.hpp' "$work/read")"
  rm -f "$work/b.db"
  expect "$ids" "$work/with-pkg-config" "sqlite:$work/b.db"
  # shellcheck disable=SC2086
  "${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror "$here/../c/draw.c" $flags -Wl,-rpath,"$folder" -o "$work/in-c"
  "$root/bin/leafctl" -q --store "sqlite:$work/b.db" add-tag in-c
  LEAFCTL_RUNTIME_DIR=$memory/run LEAFCTL_CONFIG=/dev/null expect 1 "$work/in-c" in-c "sqlite:$work/b.db"
done

# As deep as the folder for libraries is; one outside of the prefix stays where it is.
for folders in lib/x86_64-linux-gnu:lib/x86_64-linux-gnu lib64:lib64 lib:lib "$work/apart:"; do
  cmake -G Ninja -S "$here/../.." -B "$work/configured" -DCMAKE_INSTALL_PREFIX=/usr -DLEAF_BUILD_TESTS=OFF \
    -DCMAKE_INSTALL_LIBDIR="${folders%%:*}" >/dev/null
  folder=$work/moved/${folders#*:}/pkgconfig
  mkdir -p "$folder"
  cp "$work/configured/lib/leaf.pc" "$folder"
  wanted=$work/moved
  [[ $folders != /* ]] || wanted=/usr
  expect "$wanted/include" realpath --canonicalize-missing "$(pkg-config --variable=includedir "$folder/leaf.pc")"
  case $folders in /*) wanted=$work/apart ;; *) wanted=$work/moved/${folders#*:} ;; esac
  expect "$wanted" realpath --canonicalize-missing "$(pkg-config --variable=libdir "$folder/leaf.pc")"
done

# The example of the manual is a program.
awk '$1 == ".Sh" { in_section = $2 == "EXAMPLES" } $1 == ".Ed" { exit } in_section && in_code { gsub(/\\e/, "\\"); print }
  $1 == ".Bd" { in_code = 1 }' "$prefix/share/man/man3/libleaf.3" >"$work/example.cpp"
# shellcheck disable=SC2086
"${CXX:-c++}" -std=c++20 "$work/example.cpp" $flags -Wl,-rpath,"$libdir" -o "$work/example"
"$prefix/bin/leafctl" -q --store "sqlite:$work/c.db" init-db
"$prefix/bin/leafctl" -q --store "sqlite:$work/c.db" add-tag order
printed=$("$work/example" "sqlite:$work/c.db")
wanted=$'^1\n2\n3\n[0-9]{19}$'
[[ $printed =~ $wanted ]] || { echo "the example of libleaf(3) printed: $printed" >&2; exit 1; }
