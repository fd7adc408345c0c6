#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/address.hpp"
#include "serve/statistics.hpp"

namespace leafctl::serve {

/// A socket that takes connections.
class Listener {
 public:
  /// Takes over `socket`, which listens and was not opened here.
  Listener(boost::asio::io_context& context, Protocol protocol, int socket);
  /// Opens one. `option` is what named the address. Throws leaf::Error: `usage` for a host that is unknown,
  /// `failed` if it is in use already.
  Listener(boost::asio::io_context& context, Protocol protocol, const Address& address);
  /// Removes the path that it made.
  ~Listener();

  Protocol protocol() const noexcept { return protocol_; }
  bool is_unix() const noexcept { return is_unix_; }
  /// True if others than this host's can reach it.
  bool is_public() const noexcept { return is_public_; }
  /// With the port that the kernel chose.
  const std::string& shown() const noexcept { return shown_; }

  /// Calls `accepted` with a socket that does not block, and who is at its other end, for each connection.
  void start(std::function<void(int socket, std::string remote)> accepted);
  void stop();

 private:
  void remove_path() noexcept;
  void open_unix(const Address& address);
  void open_tcp(const Address& address);
  void look_at_socket(int socket);
  void accept_all();
  void await();

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  const Protocol protocol_;
  std::function<void(int, std::string)> accepted_;
  std::string path_;                                ///< that was made
  std::optional<std::pair<dev_t, ino_t>> inode_{};  ///< of what was made there
  std::string shown_;
  bool is_unix_ = false;
  bool is_public_ = false;
};

/// A socket that the service manager has opened, and the name that it has there.
struct InheritedSocket {
  int descriptor;
  std::string name;
};

/// Those of LISTEN_FDS, if they are meant for this process. Forgets the variables.
std::vector<InheritedSocket> inherited_sockets();

}  // namespace leafctl::serve
