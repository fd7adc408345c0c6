# A root in which Debian packages are installed, upgraded and purged as dpkg does it, without touching this machine.
# Source it, then: new_dpkg_root ROOT PACKAGE...; in_dpkg_root ROOT DPKG_OPTION...
# What dpkg and the packages' scripts print is shown where they fail.

# new_dpkg_root ROOT PACKAGE.deb...: packages of others that these depend on count as installed, as they are here: dpkg
# checks their versions.
new_dpkg_root() {
  local root=$1 package
  shift
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root.bin"
  for package in "$@"; do dpkg-deb -f "$package" Package; done >"$root.names"
  # shellcheck disable=SC2016 # dpkg-query's own fields
  for package in "$@"; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
    sort -u | grep -vxFf "$root.names" | xargs dpkg-query -W -f 'Package: ${Package}
Status: install ok installed
Architecture: ${Architecture}
Version: ${Version}
Maintainer: ${Maintainer}
Description: counts as installed

' >"$root/var/lib/dpkg/status"
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
