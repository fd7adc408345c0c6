#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leafctl::serve {

/// A command of Redis' protocol that is served.
struct RedisCommand {
  enum class Id : std::uint8_t {
    incr,
    incrby,
    leaf_next,
    leaf_range,
    leaf_snowflake,
    leaf_decode,
    ping,
    echo,
    select,
    auth,
    hello,
    client,
    command,
    config,
    info,
    reset,
    quit,
  };

  Id id;
  std::string_view name;
  int arity;  ///< with the name; at least so many if it is below 0
  std::string_view flags;
  int first_key;

  bool takes(std::size_t words) const noexcept {
    return arity > 0 ? words == static_cast<std::size_t>(arity) : words >= static_cast<std::size_t>(-arity);
  }
  bool needs_token() const noexcept { return flags.find("no_auth") == std::string_view::npos; }
};

/// All of them.
std::span<const RedisCommand> redis_commands() noexcept;
/// The one of that name, in whatever case; null if there is none.
const RedisCommand* find_redis_command(std::string_view name) noexcept;

}  // namespace leafctl::serve
