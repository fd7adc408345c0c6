#include "store/postgresql/servers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace leaf::store::postgresql {

namespace {

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> result;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = list.find(',', begin);
    result.push_back(list.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return result;
}

}  // namespace

std::vector<Server> one_by_one(const Servers& servers) {
  const auto hosts = parts(servers.hosts);
  const auto addresses = parts(servers.addresses);
  const auto ports = parts(servers.ports);
  if (!servers.addresses.empty() && addresses.size() != hosts.size()) return {};
  if (ports.size() != 1 && ports.size() != hosts.size()) return {};
  std::vector<Server> result;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    result.push_back({.host = hosts[i],
                      .address = servers.addresses.empty() ? "" : addresses[i],
                      .port = ports[ports.size() == 1 ? 0 : i]});
  }
  return result;
}

Servers in_lists(const std::vector<Server>& servers) {
  const auto list = [&](std::string Server::*field) {
    std::vector<std::string> values;
    for (const Server& server : servers) values.push_back(server.*field);
    return fmt::format("{}", fmt::join(values, ","));
  };
  return {.hosts = list(&Server::host), .addresses = list(&Server::address), .ports = list(&Server::port)};
}

}  // namespace leaf::store::postgresql
