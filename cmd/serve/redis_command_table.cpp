#include "serve/redis_command_table.hpp"

#include <algorithm>

namespace leafctl::serve {

namespace {

using Id = RedisCommand::Id;

/// What is asked for most stands first.
constexpr RedisCommand commands[] = {
    {Id::incr, "incr", 2, "write denyoom fast", 1},
    {Id::incrby, "incrby", 3, "write denyoom fast", 1},
    {Id::leaf_next, "leaf.next", -2, "write denyoom fast", 1},
    {Id::leaf_range, "leaf.range", 3, "write denyoom fast", 1},
    {Id::leaf_snowflake, "leaf.snowflake", -1, "write denyoom fast", 0},
    {Id::leaf_decode, "leaf.decode", 2, "readonly fast", 0},
    {Id::ping, "ping", -1, "fast", 0},
    {Id::echo, "echo", 2, "fast", 0},
    {Id::select, "select", 2, "loading stale fast", 0},
    {Id::auth, "auth", -2, "noscript loading stale fast no_auth", 0},
    {Id::hello, "hello", -1, "noscript loading stale fast no_auth", 0},
    {Id::client, "client", -2, "admin noscript loading stale", 0},
    {Id::command, "command", -1, "loading stale", 0},
    {Id::config, "config", -2, "admin noscript loading stale", 0},
    {Id::info, "info", -1, "loading stale", 0},
    {Id::reset, "reset", 1, "noscript loading stale fast no_auth", 0},
    {Id::quit, "quit", -1, "fast no_auth", 0},
};

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::span<const RedisCommand> redis_commands() noexcept {
  return commands;
}

const RedisCommand* find_redis_command(std::string_view name) noexcept {
  for (const RedisCommand& command : commands) {
    if (std::ranges::equal(name, command.name, [](char a, char b) { return lower(a) == b; })) return &command;
  }
  return nullptr;
}

}  // namespace leafctl::serve
