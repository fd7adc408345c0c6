#!/usr/bin/env bash
# Reads and tests the package of Go, once more with the race detector: run.sh GO FOLDER
# Nothing is downloaded. PKG_CONFIG_PATH leads to libleaf, PATH to leafctl.
set -euo pipefail
go=$1
cd "$2"
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted" >&2; exit 1; }
"$go" vet ./...
"$go" test -count=1 ./...
"$go" test -count=1 -race ./...
"$go" test -run=^$ -bench=. -benchtime=1x ./... >/dev/null
