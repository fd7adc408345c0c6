// What the service manager hears, by the protocol of sd_notify(3).
#include "serve/service_manager.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "support/temporary_folder.hpp"

namespace {

using leafctl::serve::notify_service_manager;
using leafctl::serve::watchdog_interval;

/// The manager's socket, whose name begins with @ if it lies in the abstract namespace.
class Manager {
 public:
  explicit Manager(std::string name)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.starts_with('@')) name[0] = '\0';
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) == 0);
  }
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// What it was told, or nothing.
  std::string heard() const {
    char text[200];
    const ssize_t size = recv(socket_, text, sizeof text, 0);
    return {text, static_cast<std::size_t>(size > 0 ? size : 0)};
  }

 private:
  const int socket_;
};

}  // namespace

TEST_CASE("service manager: it is told at its socket, a file or an abstract one, and nowhere else") {
  const leaf::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  for (const std::string& name : {path, "@leafctl-test-" + std::to_string(getpid())}) {
    CAPTURE(name);
    const Manager manager(name);
    notify_service_manager("READY=1\nSTATUS=serving");
    CHECK(manager.heard() == "READY=1\nSTATUS=serving");
    CHECK(manager.heard().empty());
    for (const std::string& other : {std::string(), std::string("@"), path.substr(1), name + "s",
                                     "/" + std::string(200, 'a'), std::string("vsock:2:1234")}) {
      CAPTURE(other);
      setenv("NOTIFY_SOCKET", other.c_str(), 1);
      notify_service_manager("READY=1");
      CHECK(manager.heard().empty());
    }
    unsetenv("NOTIFY_SOCKET");
    notify_service_manager("READY=1");
    CHECK(manager.heard().empty());
  }
}

TEST_CASE("service manager: a sign of life is due twice in its interval, if it is asked of this process") {
  const auto interval = [](const char* microseconds, const char* process) {
    setenv("WATCHDOG_USEC", microseconds, 1);
    if (process != nullptr) setenv("WATCHDOG_PID", process, 1);
    const auto found = watchdog_interval();
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return found ? found->count() : 0;
  };
  CHECK_FALSE(watchdog_interval());
  CHECK(interval("30000000", nullptr) == 15'000'000);
  CHECK(interval("30000000", std::to_string(getpid()).c_str()) == 15'000'000);
  CHECK(interval("30000000", "1") == 0);
  CHECK(interval("2", nullptr) == 1);
  for (const char* const wrong : {"", "0", "-5", "x", "5x", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK(interval(wrong, nullptr) == 0);
  }
}
