# For the builtin `leaf`, in the shell that $LEAF_SHELL names: $BUILTIN is what that loads.
# shellcheck disable=SC2016 # scripts for the other shell
load ../cli/support
load ../cli/host_support

case $LEAF_SHELL in
  bash)
    shell=(bash)
    load_builtin='enable -f "$BUILTIN" leaf'
    ;;
  zsh)
    shell=(zsh -f)
    load_builtin='module_path=("${BUILTIN%/*}" $module_path); zmodload leaf'
    ;;
esac

setup() { new_order_store; }
teardown() { end_host_test; }

# write_script SCRIPT: into the file `script`, for a shell that has loaded the builtin first.
write_script() { printf '%s\n%s\n' "$load_builtin" "$1" >script; }

# in_shell STATUS SCRIPT
in_shell() {
  write_script "$2"
  expect "$1" "${shell[@]}" script
}

# prime TAG: has a segment in this host's buffer, and nothing due.
prime() { leafctl -q next "$1" >/dev/null; }
