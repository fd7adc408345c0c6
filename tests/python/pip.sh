#!/usr/bin/env bash
# Builds the Python package with pip against an installed libleaf, and from a source archive: pip.sh BUILD PYTHON
# Without a network, in an environment of its own; the wheel is for the stable ABI, and draws IDs.
set -euo pipefail
build=$1
python=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

# logged COMMAND...: says what it printed only if it fails.
logged() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "'$*' failed"; }
}

unset PYTHONPATH "${!LEAFCTL_@}" "${!PIP_@}"
export HOME=$work PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1
logged cmake --install "$build" --prefix "$work/usr"
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name leaf.pc)")
export PKG_CONFIG_PATH
cp -r "$here/../../lib/python" "$work/source"
logged "$python" -m venv --system-site-packages "$work/venv"
pip() { logged "$work/venv/bin/python" -m pip "$@"; }

# draws WHAT: `leaf` is the one of the environment, and gives the next IDs.
export LEAFCTL_STORE=sqlite:$work/leaf.db LEAFCTL_RUNTIME_DIR=$memory/run LEAFCTL_CONFIG=/dev/null
"$work/usr/bin/leafctl" -q init-db
"$work/usr/bin/leafctl" -q add-tag order
drawn=0
draws() {
  local got
  drawn=$((drawn + 1))
  got=$(cd "$work" && venv/bin/python -c 'import leaf; print(leaf.__file__, next(leaf.allocator().tag("order")))') ||
    fail "$1 does not draw"
  [[ $got == "$work/venv/"*" $drawn" ]] || fail "$1 printed: $got"
}

(cd "$work/source" && pip install --no-build-isolation --no-index .)
draws 'what pip installed from the folder'
find "$work/venv" -name _leaf.abi3.so | grep -q . || fail 'the module is not one of the stable ABI'
pip uninstall -y libleaf

(cd "$work/source" && logged "$python" setup.py -q sdist -d "$work/dist")
tar -tzf "$work"/dist/libleaf-*.tar.gz >"$work/files"
for file in src/handle.h src/module.c leaf/py.typed leaf/__init__.pyi README.md pyproject.toml; do
  grep -q "/$file\$" "$work/files" || fail "the source archive lacks '$file'"
done
pip wheel --no-build-isolation --no-index --no-deps -w "$work/dist" "$work"/dist/libleaf-*.tar.gz
wheels=("$work"/dist/*.whl)
[[ ${wheels[*]} == *-cp311-abi3-linux_*.whl ]] || fail "the wheel is not of the stable ABI: ${wheels[*]}"
pip install --no-index "${wheels[@]}"
draws 'the wheel of the source archive'

PKG_CONFIG_PATH=$work/none
if (cd "$work/source" && "$python" setup.py --version) >"$work/log" 2>&1; then fail 'it builds without libleaf'; fi
grep -q 'libleaf is not found: install libleaf-dev' "$work/log" || fail "without libleaf it says: $(cat "$work/log")"
