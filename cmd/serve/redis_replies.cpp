#include "serve/redis_replies.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/version.hpp"
#include "serve/redis_command_table.hpp"
#include "serve/resp.hpp"

namespace leafctl::serve {

namespace {

/// That of Redis whose protocol is spoken; clients look at it before they use what came later.
constexpr std::string_view redis_version = "7.0.0";

void append_command(const RedisCommand& command, std::string& out) {
  append_resp_array(6, out);
  append_resp_bulk(command.name, out);
  append_resp_integer(command.arity, out);
  std::string_view flags = command.flags;
  append_resp_array(static_cast<std::size_t>(std::ranges::count(flags, ' ')) + 1, out);
  while (!flags.empty()) {
    const std::size_t end = std::min(flags.find(' '), flags.size());
    append_resp_status(flags.substr(0, end), out);
    flags.remove_prefix(std::min(end + 1, flags.size()));
  }
  append_resp_integer(command.first_key, out);
  append_resp_integer(command.first_key, out);
  append_resp_integer(command.first_key, out);
}

}  // namespace

void append_commands_reply(std::string& out) {
  append_resp_array(redis_commands().size(), out);
  for (const RedisCommand& command : redis_commands()) append_command(command, out);
}

void append_commands_reply(std::span<const std::string_view> names, int protocol, std::string& out) {
  append_resp_array(names.size(), out);
  for (const std::string_view name : names) {
    if (const RedisCommand* const command = find_redis_command(name)) {
      append_command(*command, out);
    } else {
      append_resp_null(protocol, out);
    }
  }
}

void append_settings_reply(std::span<const std::string_view> names, int protocol, std::string& out) {
  std::vector<std::pair<std::string_view, std::string_view>> settings;
  for (const std::string_view name : names) {
    if (is_command(name, "SAVE")) settings.emplace_back("save", "");
    if (is_command(name, "APPENDONLY")) settings.emplace_back("appendonly", "no");
  }
  append_resp_map(settings.size(), protocol, out);
  for (const auto& [name, value] : settings) {
    append_resp_bulk(name, out);
    append_resp_bulk(value, out);
  }
}

void append_hello_reply(int connection, int protocol, std::string& out) {
  append_resp_map(7, protocol, out);
  append_resp_bulk("server", out);
  append_resp_bulk("leafctl", out);
  append_resp_bulk("version", out);
  append_resp_bulk(redis_version, out);
  append_resp_bulk("proto", out);
  append_resp_integer(protocol, out);
  append_resp_bulk("id", out);
  append_resp_integer(connection, out);
  append_resp_bulk("mode", out);
  append_resp_bulk("standalone", out);
  append_resp_bulk("role", out);
  append_resp_bulk("master", out);
  append_resp_bulk("modules", out);
  append_resp_array(0, out);
}

void append_info_reply(std::chrono::seconds up, std::uint64_t connections, std::string& out) {
  append_resp_bulk(
      fmt::format("# Server\r\nredis_version:{}\r\nredis_mode:standalone\r\nleafctl_version:{}\r\n"
                  "process_id:{}\r\nuptime_in_seconds:{}\r\n\r\n# Clients\r\nconnected_clients:{}\r\n",
                  redis_version, leaf::version(), getpid(), up.count(), connections),
      out);
}

void append_decoded_reply(const leaf::Layout& layout, std::int64_t id, int protocol, std::string& out) {
  const leaf::UnixTime time = layout.time_of(id);
  append_resp_map(3 + layout.fields().size(), protocol, out);
  append_resp_bulk("id", out);
  append_resp_integer(id, out);
  append_resp_bulk("layout", out);
  append_resp_bulk(layout.name(), out);
  append_resp_bulk("time", out);
  append_resp_bulk(leaf::detail::format_rfc3339(time), out);
  append_resp_bulk("unix_ms", out);
  append_resp_integer(time.time_since_epoch().count(), out);
  for (const leaf::LayoutField& field : layout.fields()) {
    if (field.role() == leaf::LayoutField::Role::time) continue;
    append_resp_bulk(field.name(), out);
    append_resp_integer(field.of(id), out);
  }
}

}  // namespace leafctl::serve
