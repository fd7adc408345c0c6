// What redis-benchmark lets any server reach: one that neither parses, keeps nor waits for anything, and
// answers INCR. bench_bare_server SOCKET, which then has up to 64 clients at a time, each with one request of
// at most 4 KiB in hand.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

class BareServer {
 public:
  explicit BareServer(int listener) : listener_(listener) {}

  /// Looks at each client in turn, for ever: a core that never sleeps is never woken, which costs a client
  /// more than its request.
  void serve() {
    constexpr unsigned turns = 1024;
    while (true) {
      accept_one();
      for (unsigned turn = 0; turn < turns && !clients_.empty(); ++turn) serve_each();
    }
  }

 private:
  void accept_one() {
    constexpr std::size_t most_clients = 64;
    if (clients_.size() == most_clients) return;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0) clients_.push_back(client);
  }

  void serve_each() {
    for (std::size_t i = 0; i < clients_.size();) {
      const ssize_t length = recv(clients_[i], request_.data(), request_.size(), 0);
      if (length > 0) answer(clients_[i], {request_.data(), static_cast<std::size_t>(length)});
      if (length > 0 || (length < 0 && errno == EAGAIN)) {
        ++i;
        continue;
      }
      close(clients_[i]);
      clients_[i] = clients_.back();
      clients_.pop_back();
    }
  }

  /// redis-benchmark asks for the configuration first, and goes on without it.
  void answer(int client, std::string_view request) {
    const bool draws = request.find("incr") != request.npos || request.find("INCR") != request.npos;
    const std::string text = draws ? fmt::format(":{}\r\n", ++id_) : "*0\r\n";
    send(client, text.data(), text.size(), MSG_NOSIGNAL);
  }

  int listener_;
  std::vector<int> clients_;
  std::array<char, 4096> request_{};
  std::int64_t id_ = 1'000'000'000'000;  // as wide as what the others count
};

int listen_at(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  path.copy(address.sun_path, path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0)
    return -1;
  return listener;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} SOCKET\n", argv[0]);
    return 2;
  }
  const int listener = listen_at(argv[1]);
  if (listener < 0) {
    std::perror(argv[1]);
    return 1;
  }
  BareServer(listener).serve();
}
