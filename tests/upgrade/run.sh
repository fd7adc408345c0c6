#!/usr/bin/env bash
# Builds the last release from its commit and has it draw beside this program: run.sh BUILD
# The commit is in tests/upgrade/last_release; its history has to be here (not a shallow clone).
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
source_tree=$here/../..
commit=$(<"$here/last_release")

old=$build/last_release
rm -rf "$old"
mkdir -p "$old/source"
git -C "$source_tree" archive "$commit" | tar -C "$old/source" -xf -
cmake -S "$old/source" -B "$old/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLEAF_BUILD_TESTS=OFF >/dev/null
cmake --build "$old/build" --target leafctl leaf-sqlite leaf-postgresql

export OLD_LEAFCTL=$old/build/bin/leafctl PATH=$build/bin:$PATH
for store in sqlite postgresql; do TEST_STORE=$store bats "$here/rolling.bats"; done
