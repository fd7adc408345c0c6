#!/usr/bin/env bash
# Builds the last release's packages from its commit and this program's beside them, and has both draw: run.sh BUILD
# The commit is in tests/upgrade/last_release; its history has to be here (not a shallow clone).
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
source_tree=$here/../..
commit=$(<"$here/last_release")
# shellcheck disable=SC1091 # a file of this project, checked by itself
. "$here/../support/dpkg_root.bash"

old=$build/last_release
rm -rf "$old"
mkdir -p "$old/source"
git -C "$source_tree" archive "$commit" | tar -C "$old/source" -xf -
SOURCE_DATE_EPOCH=$(git -C "$source_tree" log -1 --format=%ct "$commit") "$old/source/scripts/package" "$old/packages"
"$source_tree/scripts/package" "$build/package"

OLD_PACKAGES=$old/packages NEW_PACKAGES=$build/package
export OLD_PACKAGES NEW_PACKAGES
for store in sqlite postgresql; do TEST_STORE=$store bats "$here/rolling.bats"; done
