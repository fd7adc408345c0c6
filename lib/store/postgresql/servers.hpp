#pragma once

#include <string>
#include <vector>

namespace leaf::store::postgresql {

/// libpq's settings `host`, `hostaddr` and `port`: one value for each server, parted by commas.
struct Servers {
  std::string hosts;
  std::string addresses;
  std::string ports;
};

/// One of them.
struct Server {
  std::string host;
  std::string address;
  std::string port;
};

/// The servers one by one; none if libpq would not take the lists.
std::vector<Server> one_by_one(const Servers& servers);

Servers in_lists(const std::vector<Server>& servers);

}  // namespace leaf::store::postgresql
