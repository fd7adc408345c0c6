#!/usr/bin/env bash
# Looks at what the linker made: hardening.sh BUILD
# The program is position independent; it, the library and the drivers have read-only tables, no executable stack, and a
# guard behind each array on it. Drivers are bound as they are loaded; the rest is not, for the sake of short calls.
set -euo pipefail
build=$1
failures=0

# lacks FILE WHAT
lacks() {
  echo "'$1' $2" >&2
  failures=$((failures + 1))
}

for file in "$build/bin/leafctl" "$build"/lib/libleaf.so "$build"/lib/leaf/*.so "$build"/lib/python/leaf/*.so \
  "$build"/lib/bash/*.so "$build"/lib*/zsh/*/*.so; do
  [ -e "$file" ] || continue  # not all are built
  seen=$(readelf -W --dynamic --segments --dyn-syms --notes "$file")
  [[ $file != */leaf/* && $file != */bash/* && $file != */zsh/* ]] || grep -q '(FLAGS) .*BIND_NOW' <<<"$seen" || lacks "$file" 'is not bound at its start (-z now)'
  grep -q ' GNU_RELRO ' <<<"$seen" || lacks "$file" 'keeps its tables writable (-z relro)'
  grep -Eq ' GNU_STACK .* RW +0x' <<<"$seen" || lacks "$file" 'has an executable stack'
  grep -q ' __stack_chk_fail@' <<<"$seen" || lacks "$file" 'has no guards on its stack (-fstack-protector-strong)'
  ! grep -q '(TEXTREL)' <<<"$seen" || lacks "$file" 'writes into its code'
done
grep -q '(FLAGS_1) .*PIE' <<<"$(readelf -W --dynamic "$build/bin/leafctl")" || lacks "$build/bin/leafctl" 'has a fixed address (-pie)'

commands=$build/compile_commands.json
for flag in -fstack-clash-protection -fcf-protection; do
  "${CXX:-c++}" -Werror "$flag" -x c++ -c /dev/null -o /dev/null 2>/dev/null || continue
  ! grep '"command".*/\(lib\|cmd\)/[^ ]*\.cpp' "$commands" | grep -v -e "$flag" >&2 || lacks "$commands" "has no '$flag' there"
done
[ "$failures" -eq 0 ]
