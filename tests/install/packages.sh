#!/usr/bin/env bash
# Builds the Debian packages in FOLDER and tries them in a root of their own: packages.sh FOLDER
# They hold exactly what packages.txt lists, lintian finds nothing in them, they install, serve IDs, and leave nothing.
set -euo pipefail
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT
root=$work/root
triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
# shellcheck disable=SC1091 # a file of this project, checked by itself
. "$here/../support/dpkg_root.bash"

fail() {
  echo "$*" >&2
  exit 1
}

"$here/../../scripts/package" "$folder" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "scripts/package failed"; }
packages=("$folder"/*.deb)
names=()

for package in "${packages[@]}"; do
  name=$(dpkg-deb -f "$package" Package)
  names+=("$name")
  dpkg-deb --fsys-tarfile "$package" | tar -tf - | grep -v '/$' | sed "s|^\./|$name |; s|/$triple/|/TRIPLE/|" >>"$work/files"
done
sed -i 's|\.so\.0\.[0-9.]*$|.so.VERSION|; s|/zsh/[0-9.]*/|/zsh/VERSION/|' "$work/files"
LC_ALL=C sort -o "$work/files" "$work/files"
diff "$here/packages.txt" "$work/files" >&2 || fail "the packages' files differ from packages.txt"

lintian --fail-on error,warning --tag-display-limit 0 "${packages[@]}" >&2 || fail "lintian finds fault with a package"

new_dpkg_root "$root" "${packages[@]}"
in_dpkg_root "$root" --install "${packages[@]}"
grep -q '^leafctl:.*:/var/lib/leafctl-serve:' "$root/etc/passwd" || fail "the user of leafctl.service is missing"

libraries=$root/usr/lib/$triple
modules=$root/usr/lib/python3/dist-packages
for file in "$root/usr/bin/leafctl" "$libraries/libleaf.so.0" "$libraries"/leaf/*.so "$modules"/leaf/*.so \
  "$libraries/nodejs/leaf/leaf.node" "$root/usr/lib/bash/leaf.so" "$libraries"/zsh/*/leaf.so; do
  readelf -d "$file" >"$work/dynamic"
  ! grep -E 'R(UN)?PATH' "$work/dynamic" >&2 || fail "'$file' has the loader search a folder of its own"
done

export LD_LIBRARY_PATH=$libraries LEAFCTL_STORE=sqlite:$work/leaf.db LEAFCTL_RUNTIME_DIR=$memory/run LEAFCTL_CONFIG=/dev/null
leafctl() { "$root/usr/bin/leafctl" "$@"; }
leafctl -q init-db
leafctl -q add-tag order
[ "$(leafctl next order -n 3)" = $'1\n2\n3' ] || fail "the installed program does not draw 1, 2 and 3"
[ "$(PYTHONPATH=$modules /usr/bin/python3 -Bc 'import leaf; print(next(leaf.allocator().tag("order")))')" = 4 ] ||
  fail "the installed package for Python does not draw 4"

drawn=$(NODE_PATH=$libraries/nodejs nodejs -p "require('leaf').allocator().tag('order').next()")
[ "$drawn" = 5n ] || fail "Node.js draws '$drawn', not 5n"

mkdir "$work/program"
cat >"$work/program/go.mod" <<END
module program

go 1.19

require example.org/leaf v0.0.0

replace example.org/leaf => $root/usr/share/gocode/src/example.org/leaf
END
cat >"$work/program/main.go" <<'END'
package main

import (
	"fmt"

	"example.org/leaf"
)

func main() {
	alloc, err := leaf.Open(leaf.Options{})
	if err != nil {
		panic(err)
	}
	order, err := alloc.Tag("order")
	if err != nil {
		panic(err)
	}
	fmt.Println(order.Next())
}
END
drawn=$(cd "$work/program" && GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$work/cache CGO_LDFLAGS=-L$libraries \
  PKG_CONFIG_PATH=$libraries/pkgconfig go run .)
[ "$drawn" = '6 <nil>' ] || fail "Go draws '$drawn', not '6 <nil>'"

# shellcheck disable=SC2016 # for the other shell
[ "$(bash -c 'enable -f "$1" leaf && leaf next order -v id && echo "$id"' bash "$root/usr/lib/bash/leaf.so")" = 7 ] ||
  fail "the installed builtin does not draw 7"
# shellcheck disable=SC2016
drawn=$(zsh -fc 'module_path=("$1"); zmodload leaf && leaf next order -v id && echo "$id"' zsh "$libraries"/zsh/*)
[ "$drawn" = 8 ] || fail "the installed module of zsh does not draw 8"
gzip -t "$root"/usr/share/man/man*/*.gz

in_dpkg_root "$root" --purge "${names[@]}"
# The user stays.
rm -r "${root:?}/etc"
find "$root" -mindepth 1 -not -path "$root/var" -not -path "$root/var/lib" -not -path "$root/var/lib/dpkg*" >"$work/left"
[ ! -s "$work/left" ] || { cat "$work/left" >&2; fail "removing the packages leaves files"; }
