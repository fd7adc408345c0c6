#!/usr/bin/env bash
# Runs the programs on the C API so that what they do to memory is checked: memory.sh {valgrind | sanitizers} BUILD
# For the sanitizers the library is built once more, in BUILD/sanitizers.
set -euo pipefail
kind=$1
build=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT

programs=$build/bin
case $kind in
  valgrind)
    # Threads take turns under valgrind: fairly, or one that draws keeps out one that fetches.
    check=(valgrind -q --fair-sched=yes --error-exitcode=99)
    leaks=(--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
    ;;
  sanitizers)
    cmake -S "$source" -B "$build/sanitizers" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g1' \
      -DLEAF_BUILD_TESTS=ON -DLEAF_SANITIZE=address,undefined >/dev/null
    cmake --build "$build/sanitizers" --target c_test draw_in_c >"$work/log" || { cat "$work/log" >&2; exit 1; }
    programs=$build/sanitizers/bin
    check=(env ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1)
    leaks=()
    ;;
esac

# A child of a fork has lost its parent's threads, and what only their stacks point to. With AddressSanitizer it may
# wait for ever, for a lock of the sanitizer's own allocator that another thread had at the fork.
[ "$kind" = sanitizers ] || "${check[@]}" "$programs/c_test" --test-case='*child*'
"${check[@]}" "${leaks[@]}" "$programs/c_test" --test-case-exclude='*child*'

unset "${!LEAFCTL_@}"
export LEAFCTL_STORE=sqlite:$work/leaf.db LEAFCTL_RUNTIME_DIR=$memory/run LEAFCTL_CONFIG=/dev/null LEAFCTL_TIMEOUT=60s
"$build/bin/leafctl" -q init-db
"$build/bin/leafctl" -q add-tag order
[ "$("${check[@]}" "${leaks[@]}" "$programs/draw_in_c" order)" = 1 ]
"${check[@]}" "${leaks[@]}" "$programs/draw_in_c" --snowflake >/dev/null
status=0
"${check[@]}" "${leaks[@]}" "$programs/draw_in_c" nope 2>/dev/null || status=$?
[ "$status" -eq 4 ] || { echo "a tag that does not exist ends with status $status, not 4" >&2; exit 1; }
