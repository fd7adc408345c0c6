#include "host/name_scope.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "host/descriptor.hpp"
#include "host/hash.hpp"
#include "store/conninfo.hpp"
#include "store/libpq_variables.hpp"

namespace leaf::host {

namespace fs = std::filesystem;

namespace {

/// What `path` is, whatever it is called; nothing of it where it is missing.
void add_file(Hash& hash, const char* path) {
  struct statx file {};
  if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &file) != 0) file = {};
  hash.add_number(std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor)
      .add_number(file.stx_ino)
      .add_number(static_cast<std::uint64_t>(file.stx_btime.tv_sec))
      .add_number(file.stx_btime.tv_nsec);
}

/// The network namespace, by a number that no later one gets. Linux before 5.14 tells an inode alone, which
/// the next namespace may have.
void add_network(Hash& hash) {
  constexpr int netns_cookie = 71;  // SO_NETNS_COOKIE, which older headers lack
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const Descriptor any(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (any && getsockopt(any.get(), SOL_SOCKET, netns_cookie, &cookie, &size) == 0) {
    hash.add_number(cookie);
    return;
  }
  struct stat network {};
  // Where there is no such file the kernel has one network.
  if (stat("/proc/self/ns/net", &network) != 0) network = {};
  hash.add_number(network.st_dev).add_number(network.st_ino);
}

constexpr unsigned unique_mount = 0x4000;  // STATX_MNT_ID_UNIQUE of Linux 6.8: no later one gets it
constexpr const char* default_port = "5432";

/// Each mount namespace has mounts of its own, with other numbers.
void add_mounts(Hash& hash) {
  struct statx root {};
  if (statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID | unique_mount, &root) != 0) root = {};
  hash.add_number(root.stx_mnt_id).add_number(root.stx_ino);
}

std::optional<std::uint64_t> mount_of(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID | unique_mount, &file) != 0) return std::nullopt;
  return file.stx_mnt_id;
}

/// Linux before 5.8 tells of none.
bool is_mount_root(const fs::path& folder) {
  struct statx found {};
  return statx(AT_FDCWD, folder.c_str(), 0, STATX_INO, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// The parts between commas; an empty text has one, which is empty.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

/// Where libpq looks if no host is named: Debian's has the first of these built in, PostgreSQL's own the
/// second.
std::string default_socket_folder() {
  constexpr const char* of_debian = "/var/run/postgresql";
  return access(of_debian, F_OK) == 0 ? of_debian : "/tmp";
}

/// The folders among `hosts`, and the sockets there that are mounted alone, as into a container. A socket in
/// its place in its folder does not count: a server that starts anew makes another one.
void add_sockets(Hash& hash, const std::string& hosts, const std::string& ports) {
  for (const std::string& host : parts_of(hosts)) {
    const std::string folder = host.empty() ? default_socket_folder() : host;
    if (!folder.starts_with('/')) continue;
    add_file(hash, folder.c_str());
    const auto mount = mount_of(folder);
    for (const std::string& port : parts_of(ports)) {
      const std::string socket = folder + "/.s.PGSQL." + (port.empty() ? default_port : port);
      if (const auto own = mount_of(socket); own && own != mount) hash.add(socket).add_number(*own);
    }
  }
}

}  // namespace

bool goes_through_service(const std::string& conninfo, const std::string& variables) {
  const auto parameters = store::parse_conninfo(conninfo);
  if (!parameters || store::libpq_variable("PGSERVICE", variables)) return true;
  return std::ranges::any_of(
      *parameters, [](const store::Parameter& parameter) { return parameter.keyword == "service"; });
}

std::uint64_t name_scope(const std::string& conninfo, const std::string& variables) {
  Hash hash;
  add_network(hash);
  for (const char* file : {"/etc/hosts", "/etc/nsswitch.conf"}) add_file(hash, file);
  std::string hosts = store::libpq_variable("PGHOST", variables).value_or("");
  std::string ports = store::libpq_variable("PGPORT", variables).value_or("");
  const auto parameters = store::parse_conninfo(conninfo);
  for (const store::Parameter& parameter : parameters.value_or(std::vector<store::Parameter>())) {
    if (parameter.keyword == "host") hosts = parameter.value;
    if (parameter.keyword == "port") ports = parameter.value;
  }
  // What a service says is libpq's to know.
  if (goes_through_service(conninfo, variables)) add_mounts(hash);
  add_sockets(hash, hosts, ports);
  return hash.value();
}

std::uint64_t mount_scope(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  while (!is_mount_root(folder) && folder != folder.root_path()) folder = folder.parent_path();
  Hash hash;
  add_file(hash, folder.c_str());
  return hash.value();
}

}  // namespace leaf::host
