#!/usr/bin/env bash
# Installs BUILD into a folder of its own, and the package of Node.js against it from its sources: install.sh BUILD NODE
# As `npm install` does it; and by npm itself where there is one. Nothing is downloaded.
set -euo pipefail
build=$1
node=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT
unset "${!LEAFCTL_@}" "${!npm_config_@}" "${!XDG_@}"
export HOME=$work LEAFCTL_STORE=sqlite:$work/leaf.db LEAFCTL_RUNTIME_DIR=$memory/run LEAFCTL_CONFIG=/dev/null

fail() {
  echo "$*" >&2
  exit 1
}

cmake --install "$build" --prefix "$work/usr" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name leaf.pc)")
export PKG_CONFIG_PATH
leafctl -q init-db
leafctl -q add-tag order

# draws EXPECTED NAME: in the folder of a program
draws() {
  local got
  got=$("$node" -p "require('$2').allocator().tag('order').next()")
  [ "$got" = "$1" ] || fail "'$2' in '$PWD' drew '$got', not '$1'"
}

cp -r "$here/../../lib/node" "$work/source"
(cd "$work/source" && "$node" install.js)
mkdir -p "$work/program/node_modules"
mv "$work/source" "$work/program/node_modules/leaf"
cd "$work/program"
draws 1n leaf

# What `cmake --install` put there is the same.
cd "$work"
draws 2n "$(dirname "$(find "$work/usr" -name leaf.node)")"

if npm=$(command -v npm) && "$npm" --version >/dev/null 2>&1; then
  cp -r "$here/../../lib/node" "$work/source"
  mkdir "$work/by-npm"
  cd "$work/by-npm"
  echo '{"private": true}' >package.json
  "$npm" install --offline --no-audit --no-fund --install-links --foreground-scripts "$work/source" >npm.log 2>&1 ||
    { cat npm.log >&2; fail "npm does not install it"; }
  draws 3n leaf
fi

# Without libleaf it says what is missing.
cp -r "$here/../../lib/node" "$work/lost"
cd "$work/lost"
! PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH='' "$node" install.js 2>said || fail "it was built without libleaf"
grep -q '^hint: install libleaf-dev' said || fail "without libleaf it says: $(cat said)"
! CC=/nonexistent/cc "$node" install.js 2>said || fail "it was built without a compiler"
grep -q '^hint: install a C compiler' said || fail "without a compiler it says: $(cat said)"
