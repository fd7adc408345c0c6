#!/usr/bin/env bash
# The packages of one commit are the same bytes, whoever builds them, where and when: tests/install/reproducible.sh
# Builds them twice, apart in folder, locale, time zone, umask and number of jobs.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER VARIABLE=VALUE...: the packages of the last commit, in FOLDER/build/package.
build() {
  git clone --quiet "$source" "$1"
  (cd "$1" && shift && env "$@" scripts/package >log 2>&1) || { cat "$1/log"; exit 1; }
}
build "$work/a" LC_ALL=C TZ=UTC
(umask 077 && build "$work/another/folder/with a longer name" LC_ALL=C.UTF-8 TZ=Pacific/Kiritimati CMAKE_BUILD_PARALLEL_LEVEL=1)

differs=0
for package in "$work"/a/build/package/*.deb; do
  other="$work/another/folder/with a longer name/build/package/$(basename "$package")"
  if cmp --quiet "$package" "$other"; then
    sha256sum "$package" | sed "s| .*/|  |"
  else
    echo "differs: $(basename "$package")"
    if command -v diffoscope >/dev/null; then diffoscope "$package" "$other" || true; fi
    differs=1
  fi
done
exit "$differs"
