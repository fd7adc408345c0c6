#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "leaf/layout.hpp"

namespace leafctl::serve {

// Replies to Redis' commands that tell of something, behind `out`. `protocol` is 2 or 3.

/// What COMMAND tells of all commands.
void append_commands_reply(std::string& out);
/// What COMMAND INFO tells of these.
void append_commands_reply(std::span<const std::string_view> names, int protocol, std::string& out);
/// What CONFIG GET tells: what redis-benchmark wants to know of a server. No other setting is told.
void append_settings_reply(std::span<const std::string_view> names, int protocol, std::string& out);
void append_hello_reply(int connection, int protocol, std::string& out);
void append_info_reply(std::chrono::seconds up, std::uint64_t connections, std::string& out);
/// What `id`, which `layout` holds, was made of.
void append_decoded_reply(const leaf::Layout& layout, std::int64_t id, int protocol, std::string& out);

}  // namespace leafctl::serve
