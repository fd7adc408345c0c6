#include "serve/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl::serve {

namespace {

using leaf::Error;
using leaf::ErrorCode;

constexpr int backlog = 4096;
/// After accept() failed for want of files.
constexpr std::chrono::milliseconds shortage_pause{100};
/// Connections that are accepted before others get their turn.
constexpr int most_at_once = 64;

Error cannot_listen(const Address& address, int error) {
  return {ErrorCode::failed, fmt::format("cannot listen on '{}': {}", address.text(), std::strerror(error))};
}

int new_socket(int family) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket != -1) return socket;
  const std::string text = fmt::format("cannot create a socket: {}", std::strerror(errno));
  if (errno != EMFILE) throw Error(ErrorCode::failed, text);
  throw Error(ErrorCode::unavailable, text, "allow this process more open files, see 'ulimit -n'"_hint);
}

std::string text_of(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    return fmt::format("{}:{}", host, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
    return fmt::format("[{}]:{}", host, ntohs(v6.sin6_port));
  }
  return "unix";
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  if (address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  return true;
}

std::optional<std::pair<dev_t, ino_t>> inode_at(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

/// A socket that a server has left behind is removed; one that answers is another server's.
void remove_stale_socket(const Address& address, const sockaddr_un& name) {
  struct stat status {};
  if (lstat(address.path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode))
    throw Error(ErrorCode::failed, fmt::format("'{}' exists and is not a socket", address.path));
  const int probe = new_socket(AF_UNIX);
  const bool answers = connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  const bool is_left_behind = !answers && errno == ECONNREFUSED;
  ::close(probe);
  if (!is_left_behind) throw cannot_listen(address, EADDRINUSE);
  unlink(address.path.c_str());
}

}  // namespace

Listener::Listener(boost::asio::io_context& context, Protocol protocol, int socket)
    : socket_(context), pause_(context), protocol_(protocol) {
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || is_listening == 0)
    throw Error(ErrorCode::usage,
                fmt::format("descriptor {} in LISTEN_FDS is not a listening socket", socket));
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  look_at_socket(socket);
}

Listener::Listener(boost::asio::io_context& context, Protocol protocol, const Address& address)
    : socket_(context), pause_(context), protocol_(protocol) {
  if (address.is_unix()) {
    open_unix(address);
  } else {
    open_tcp(address);
  }
}

Listener::~Listener() {
  remove_path();
}

void Listener::remove_path() noexcept {
  // Somebody may have removed it, and another server listen there now.
  if (!path_.empty() && inode_ && inode_at(path_) == inode_) unlink(path_.c_str());
  path_.clear();
}

void Listener::open_unix(const Address& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address.path.copy(name.sun_path, sizeof name.sun_path - 1);
  remove_stale_socket(address, name);
  const int socket = new_socket(AF_UNIX);
  socket_.assign(socket);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    throw cannot_listen(address, errno);
  path_ = address.path;
  inode_ = inode_at(path_);
  if (listen(socket, backlog) != 0) throw cannot_listen(address, errno);
  look_at_socket(socket);
}

void Listener::open_tcp(const Address& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &list);
  if (failure != 0)
    throw Error(ErrorCode::usage,
                fmt::format("'{}' is not an address of this host: {}", address.host, gai_strerror(failure)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  int error = 0;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const int socket = new_socket(entry->ai_family);
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    // [::] is told from 0.0.0.0, whatever the system's default.
    if (entry->ai_family == AF_INET6) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(socket, entry->ai_addr, entry->ai_addrlen) == 0 && listen(socket, backlog) == 0) {
      look_at_socket(socket);
      return;
    }
    error = errno;
    ::close(socket);
  }
  throw cannot_listen(address, error);
}

void Listener::look_at_socket(int socket) {
  if (!socket_.is_open()) socket_.assign(socket);
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
  is_unix_ = name.ss_family == AF_UNIX;
  is_public_ = !is_loopback(name);
  if (is_unix_) {
    const auto& path = reinterpret_cast<const sockaddr_un&>(name).sun_path;
    shown_ = fmt::format("unix:{}", path);
  } else {
    shown_ = text_of(name);
  }
}

void Listener::start(std::function<void(int, std::string)> accepted) {
  accepted_ = std::move(accepted);
  await();
}

void Listener::stop() {
  accepted_ = nullptr;
  pause_.cancel();
  // Before another server can make one of its own there.
  remove_path();
  // The service manager, or another server, may go on with it: so it is closed, not shut down.
  if (socket_.is_open()) socket_.close();
}

void Listener::await() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (!error) accept_all();
                     });
}

void Listener::accept_all() {
  for (int i = 0; i < most_at_once && accepted_; ++i) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    const int socket = accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&name), &size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket != -1) {
      const int yes = 1;
      if (!is_unix_) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      accepted_(socket, is_unix_ ? "unix" : text_of(name));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pause_.expires_after(shortage_pause);
      pause_.async_wait([this](const boost::system::error_code& error) {
        if (!error) await();
      });
      return;
    }
    if (errno == EAGAIN) break;
  }
  if (accepted_) await();
}

std::vector<InheritedSocket> inherited_sockets() {
  constexpr int first = 3;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const auto number = [](const std::string& text) -> std::optional<int> {
    int value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  };
  std::vector<InheritedSocket> sockets;
  const auto process = number(variable("LISTEN_PID"));
  const auto count = number(variable("LISTEN_FDS"));
  if (process == getpid() && count) {
    std::string names = variable("LISTEN_FDNAMES");
    for (int i = 0; i < *count; ++i) {
      const std::size_t end = std::min(names.find(':'), names.size());
      sockets.push_back({first + i, names.substr(0, end)});
      names.erase(0, std::min(end + 1, names.size()));
    }
  }
  for (const char* const name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  return sockets;
}

}  // namespace leafctl::serve
