#include "support/tcp_proxy.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace leaf::test {

namespace {

std::size_t index(Way way) {
  return static_cast<std::size_t>(way);
}

/// -1 if nobody answers there.
int connect_to(const std::string& host, const std::string& port) {
  addrinfo* found = nullptr;
  const addrinfo wanted{.ai_flags = 0,
                        .ai_family = AF_UNSPEC,
                        .ai_socktype = SOCK_STREAM,
                        .ai_protocol = 0,
                        .ai_addrlen = 0,
                        .ai_addr = nullptr,
                        .ai_canonname = nullptr,
                        .ai_next = nullptr};
  if (getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) return -1;
  int result = -1;
  for (const addrinfo* address = found; address != nullptr && result < 0; address = address->ai_next) {
    result = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(result, address->ai_addr, address->ai_addrlen) == 0) continue;
    close(result);
    result = -1;
  }
  freeaddrinfo(found);
  return result;
}

}  // namespace

/// Two sockets; `from[way]` is where the bytes of that way come from.
struct TcpProxy::Connection {
  Connection(int client, int server) : from{client, server} {
    const int yes = 1;
    for (const int socket : from) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  }
  ~Connection() {
    for (const int socket : from) close(socket);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::array<int, 2> from;
  std::array<bool, 2> held{false, false};
};

TcpProxy::TcpProxy(const std::string& host, const std::string& port)
    : host_(host),
      server_port_(port),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("the proxy cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TcpProxy::~TcpProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  close(listener_);
  close(wake_);
}

void TcpProxy::wake() const {
  eventfd_write(wake_, 1);
}

void TcpProxy::cut_after(Way way, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  cut_ = {way, bytes};
}

bool TcpProxy::cut_pending() const {
  const std::lock_guard lock(mutex_);
  return cut_.has_value();
}

void TcpProxy::hold(Way way) {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.held[index(way)] = true;
  wake();
}

void TcpProxy::hold_logins() {
  const std::lock_guard lock(mutex_);
  holds_logins_ = true;
}

void TcpProxy::release() {
  const std::lock_guard lock(mutex_);
  holds_logins_ = false;
  for (Connection& connection : connections_) connection.held = {false, false};
  wake();
}

std::uint64_t TcpProxy::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::uint64_t TcpProxy::passed(Way way) const {
  const std::lock_guard lock(mutex_);
  return passed_[index(way)];
}

void TcpProxy::serve() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<pollfd> sockets{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      for (std::size_t way = 0; way < 2; ++way) {
        sockets.push_back({connection.held[way] ? -1 : connection.from[way], POLLIN, 0});
      }
    }
    lock.unlock();
    poll(sockets.data(), sockets.size(), -1);
    lock.lock();

    auto socket = sockets.begin() + 2;
    for (auto connection = connections_.begin(); connection != connections_.end(); socket += 2) {
      const bool open = (socket[0].revents == 0 || pass(*connection, Way::request)) &&
                        (socket[1].revents == 0 || pass(*connection, Way::reply));
      connection = open ? std::next(connection) : connections_.erase(connection);
    }
    eventfd_t ignored;
    if (sockets[0].revents != 0) eventfd_read(wake_, &ignored);
    if (sockets[1].revents != 0) accept_one();
  }
  connections_.clear();
}

void TcpProxy::accept_one() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted_;
  const int server = connect_to(host_, server_port_);
  if (server < 0) {
    close(client);
  } else {
    connections_.emplace_back(client, server).held[index(Way::reply)] = holds_logins_;
  }
}

bool TcpProxy::pass(Connection& connection, Way way) {
  if (connection.held[index(way)]) return true;
  std::array<char, 65536> bytes;
  const ssize_t size = recv(connection.from[index(way)], bytes.data(), bytes.size(), 0);
  if (size <= 0) return false;
  auto count = static_cast<std::size_t>(size);
  const bool counts = cut_ && cut_->way == way;
  const bool cuts = counts && count >= std::max<std::uint64_t>(cut_->bytes, 1);
  if (cuts) count = cut_->bytes;
  const ssize_t sent = send(connection.from[1 - index(way)], bytes.data(), count, MSG_NOSIGNAL);
  passed_[index(way)] += count;
  if (cuts) {
    cut_.reset();
  } else if (counts) {
    cut_->bytes -= count;
  }
  return !cuts && sent == static_cast<ssize_t>(count);
}

}  // namespace leaf::test
