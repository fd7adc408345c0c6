#!/usr/bin/env bash
# Installs BUILD into a folder of its own and uses what lies there: run.sh BUILD
# The files are exactly those in files.txt, and programs build against them through CMake and through pkg-config.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/usr

cmake --install "$build" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(dirname "$(find "$prefix" -name leaf.pc)")")
(cd "$prefix" && find . ! -type d | sed "s|^\./||; s|^${libdir#"$prefix"/}/|LIBDIR/|; s|Targets-[a-z]*.cmake|Targets-CONFIG.cmake|" | LC_ALL=C sort) > "$work/files"
diff "$here/files.txt" "$work/files" || { echo "installed files differ from files.txt" >&2; exit 1; }

symbols=$(nm -DC --defined-only "$libdir/libleaf.so" | awk '$2 ~ /[TDBRV]/' | cut -c20- |
  grep -vE '^(leaf::|(typeinfo|typeinfo name|vtable) for leaf::)' || true)
[ -z "$symbols" ] || { echo "libleaf.so shows more than leaf:: : $symbols" >&2; exit 1; }

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

# leaf.pc names the folder that was configured; the one of this test takes its place.
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=libdir="$libdir" --define-variable=includedir="$prefix/include" --cflags --libs leaf)
# shellcheck disable=SC2086
"${CXX:-c++}" -std=c++20 "$here/consumer/main.cpp" $flags -Wl,-rpath,"$libdir" -o "$work/with-pkg-config"
expect "$ids" "$work/with-pkg-config" "sqlite:$work/b.db"

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
