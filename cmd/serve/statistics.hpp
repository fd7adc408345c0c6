#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leafctl::serve {

enum class Protocol { http, redis };
inline constexpr std::size_t protocols = 2;

/// What was asked for.
enum class Kind { segment, snowflake, decode, bounds, status, metrics, health, page, connection, unknown };
inline constexpr std::size_t kinds = 10;

enum class Outcome {
  ok,
  bad_request,
  denied,
  not_found,
  unavailable,  ///< the store is away, and nothing is left in memory
  refused,      ///< no ID is given, by the rules that keep them unique
  exhausted,
  failed,
};
inline constexpr std::size_t outcomes = 8;

std::string_view name_of(Protocol protocol) noexcept;
std::string_view name_of(Kind kind) noexcept;
std::string_view name_of(Outcome outcome) noexcept;

/// What one event loop counts. One thread writes, any may read.
class Statistics {
 public:
  using Duration = std::chrono::nanoseconds;

  void count_request(Protocol protocol, Kind kind, Outcome outcome) noexcept {
    add(requests_[index(protocol)][static_cast<std::size_t>(kind)][static_cast<std::size_t>(outcome)], 1);
  }
  /// So many requests took that long.
  void count_time(Protocol protocol, Duration each, std::uint64_t requests) noexcept;
  void count_ids(Kind kind, std::uint64_t ids) noexcept { add(ids_[kind == Kind::snowflake ? 1 : 0], ids); }
  void count_opened(Protocol protocol) noexcept {
    add(opened_[index(protocol)], 1);
    add(open_[index(protocol)], 1);
  }
  void count_closed(Protocol protocol) noexcept { add(open_[index(protocol)], std::uint64_t(-1)); }
  void count_turned_away(Protocol protocol) noexcept { add(turned_away_[index(protocol)], 1); }
  std::size_t open() const noexcept {
    std::size_t sum = 0;
    for (const Counter& open : open_) sum += open.load(std::memory_order_relaxed);
    return sum;
  }
  void set_waiting(std::uint64_t draws) noexcept { waiting_.store(draws, std::memory_order_relaxed); }

  /// For Prometheus, in its text format: the sums of all. `lost_log_lines` is absent where nothing is logged.
  static std::string metrics(const std::vector<const Statistics*>& all,
                             std::optional<std::uint64_t> lost_log_lines = {});

 private:
  using Counter = std::atomic<std::uint64_t>;

  static std::size_t index(Protocol protocol) noexcept { return static_cast<std::size_t>(protocol); }
  static void add(Counter& counter, std::uint64_t more) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  static constexpr std::array<double, 14> bounds{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                                 0.0025,  0.005,    0.01,    0.05,   0.25,    1,      5};

  Counter requests_[protocols][kinds][outcomes]{};
  Counter times_[protocols][bounds.size() + 1]{};
  Counter time_sums_ns_[protocols]{};
  Counter ids_[2]{};
  Counter opened_[protocols]{};
  Counter open_[protocols]{};
  Counter turned_away_[protocols]{};
  Counter waiting_{0};
};

}  // namespace leafctl::serve
