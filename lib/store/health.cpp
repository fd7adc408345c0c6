#include "leaf/health.hpp"

#include "leaf/store.hpp"
#include "store/store_impl.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Connection;

void compare_clocks(StoreHealth& health, Connection& connection, Clock& clock, milliseconds timeout) {
  if (connection.sql().clock == nullptr) return;
  const auto now = [&] { return std::chrono::floor<milliseconds>(clock.now()); };
  const UnixTime asked = now();
  const auto row = connection.execute(connection.sql().clock, {}, timeout).at(0);
  const UnixTime answered = now();
  const UnixTime store(milliseconds(row.integer(0)));
  health.time = store;
  if (answered < store) health.clock_offset = answered - store;
  if (asked > store) health.clock_offset = asked - store;
}

void look_at_schema(StoreHealth& health, Connection& connection, milliseconds timeout) {
  try {
    const store::Schema schema = store::read_schema(connection, timeout);
    // Tables in a folder or schema that is closed to the role are as good as none.
    if (schema.version == 0 && !health.missing_rights.empty()) return;
    health.schema_version = schema.version;
    health.minimum_reader = schema.minimum_reader;
    health.minimum_release = schema.minimum_release;
    health.deployment = schema.deployment;
  } catch (const Error& error) {
    if (error.sqlstate() != store::sqlstate::insufficient_privilege) throw;
  }
}

}  // namespace

StoreHealth Store::health() {
  return impl_->attempt(store::IfMissing::fail, false, [&](Connection& connection, milliseconds left) {
    StoreHealth health = impl_->inspect(connection, left);
    health.newest_schema_version = impl_->driver().migrations.back().number;
    compare_clocks(health, connection, impl_->clock(), left);
    look_at_schema(health, connection, left);
    return health;
  });
}

}  // namespace leaf
