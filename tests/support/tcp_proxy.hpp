#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace leaf::test {

/// The two ways through a proxy.
enum class Way { request, reply };

/// Passes TCP connections on to a server and fails on command. It listens on 127.0.0.1 as long as it lives.
/// Thread safe.
class TcpProxy {
 public:
  TcpProxy(const std::string& host, const std::string& port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const noexcept { return port_; }

  /// Once: passes `bytes` more that way, over all connections, and closes the connection they went over. With
  /// 0 it closes on the next byte without passing it.
  void cut_after(Way way, std::uint64_t bytes);
  /// True until the cut has happened.
  bool cut_pending() const;
  /// Holds back all that comes that way over the connections there are now.
  void hold(Way way);
  /// Holds back the replies of all connections that come from now on.
  void hold_logins();
  /// Lets what is held go on, and what comes.
  void release();
  /// Connections accepted so far.
  std::uint64_t accepted() const;
  /// Bytes passed that way so far.
  std::uint64_t passed(Way way) const;

 private:
  struct Connection;
  struct Cut {
    Way way;
    std::uint64_t bytes;
  };

  void serve();
  void accept_one();
  /// Passes on what there is; false if the connection is to be closed.
  bool pass(Connection& connection, Way way);
  void wake() const;

  std::string host_;
  std::string server_port_;
  int listener_;
  int wake_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;
  std::optional<Cut> cut_;
  std::uint64_t accepted_ = 0;
  std::uint64_t passed_[2] = {0, 0};
  bool holds_logins_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace leaf::test
