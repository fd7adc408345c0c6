#!/usr/bin/env bash
# Reads and tests the package of Go, once more with the race detector: run.sh GO FOLDER
# Nothing is downloaded. PKG_CONFIG_PATH leads to libleaf, PATH to leafctl.
set -euo pipefail
go=$1
copies=$(realpath "$(dirname "$0")")/copies
cd "$2"
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted" >&2; exit 1; }
"$go" vet ./...
copied=$(cd "$copies" && "$go" vet . 2>&1) && { echo 'vet does not warn of copied handles' >&2; exit 1; }
grep -q 'copies lock value.*leaf.Tag' <<<"$copied" || { echo "$copied" >&2; exit 1; }
"$go" test -count=1 ./...
"$go" test -count=1 -race ./...
"$go" test -run=^$ -bench=. -benchtime=1x ./... >/dev/null
