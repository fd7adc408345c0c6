# A root in which Debian packages are installed, upgraded and purged as dpkg does it, without touching this machine.
# Source it, then: new_dpkg_root ROOT PACKAGE...; in_dpkg_root ROOT DPKG_OPTION...
# What dpkg and the packages' scripts print is shown where they fail.

# count_as_installed NAME: what dpkg's status says of it. A name that a package here provides has no version of its own.
# shellcheck disable=SC2016 # dpkg-query's own fields
count_as_installed() {
  local found
  found=$(dpkg-query -W -f '${Version} ${Architecture}' "$1" 2>/dev/null) || true
  [ -n "${found% *}" ] || ! dpkg-query -W -f '${Provides}\n' | tr -d ' ' | tr ',' '\n' | grep -q "^$1\((\|$\)" || found='0 all'
  printf 'Package: %s\nStatus: install ok installed\nVersion: %s\nArchitecture: %s\n' "$1" "${found% *}" "${found#* }"
  printf 'Maintainer: %s\nDescription: counts as installed\n\n' "$1"
}

# new_dpkg_root ROOT PACKAGE.deb...: packages of others that these depend on count as installed, as they are here: dpkg
# checks their versions.
new_dpkg_root() {
  local root=$1 package
  shift
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc" "$root.bin"
  for package in "$@"; do dpkg-deb -f "$package" Package; done >"$root.names"
  for package in "$@"; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
    sort -u | grep -vxFf "$root.names" | while read -r package; do count_as_installed "$package"; done \
    >"$root/var/lib/dpkg/status"
  # Without a chroot the packages' scripts would have ldconfig write the cache of this machine, not of the root.
  ln -sf /bin/true "$root.bin/ldconfig"
}

in_dpkg_root() {
  local root=$1 as_root=()
  shift
  [ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)
  PATH=$root.bin:$PATH "${as_root[@]}" dpkg --root="$root" --log="$root.log" --force-script-chrootless "$@" \
    >"$root.out" 2>&1 && return
  cat "$root.out" >&2
  echo "dpkg $* failed" >&2
  return 1
}
