#include <fmt/format.h>

#include <limits>

#include "leaf/store.hpp"
#include "store/store_impl.hpp"

namespace leaf {

std::optional<std::int64_t> Store::guard_steps() {
  const auto rows = impl_->execute(&store::Sql::guard_steps, {});
  return rows.empty() ? std::nullopt : std::optional(rows[0].integer(0));
}

void Store::require_guard_steps(std::int64_t steps) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (steps < 0 || steps > most)
    throw Error(ErrorCode::usage, fmt::format("a guard of {} steps is not between 0 and {}", steps, most));
  impl_->attempt(
      store::IfMissing::assume_empty, false, [](store::Connection& connection, std::chrono::milliseconds) {
        if (connection.sql().set_guard_steps != nullptr) return;
        throw Error(ErrorCode::usage, "a SQLite store has no server that another one could take the place of",
                    "leave the guard out, or use PostgreSQL");
      });
}

void Store::set_guard_steps(std::int64_t steps) {
  require_guard_steps(steps);
  impl_->execute(&store::Sql::set_guard_steps, {steps});
}

}  // namespace leaf
