#include <chrono>
#include <vector>

#include "leaf/store.hpp"
#include "store/functions.hpp"
#include "store/guard.hpp"
#include "store/migrations.hpp"
#include "store/runtime_role.hpp"
#include "store/store_impl.hpp"
#include "store/unix_time.hpp"
#include "store/worker_range.hpp"

namespace leaf {

using std::chrono::milliseconds;
using store::Connection;

std::vector<Migration> Store::migrate(const std::vector<ForeignObject>& adopted, const NewStore& if_new) {
  const auto& migrations = impl_->driver().migrations();
  if (if_new.layout || if_new.workers) {
    // Before a file is made for it.
    impl_->attempt(store::IfMissing::assume_empty, false, [&](Connection& connection, store::TimeLeft left) {
      if (store::read_schema(connection, left).version != 0) return;
      store::require_pool(if_new.layout.value_or(Layout::parse(known_layouts().front().name)),
                          if_new.workers);
    });
    impl_->disconnect();
  }
  return impl_->attempt(store::IfMissing::create, false, [&](Connection& connection, store::TimeLeft left) {
    return store::migrate(connection, migrations, adopted, left, [&](const store::Transaction& transaction) {
      store::set_first_pool(connection, if_new.layout, if_new.workers, store::host_time(impl_->clock()),
                            transaction);
      if (if_new.guard_steps) store::set_guard_steps(connection, *if_new.guard_steps, transaction);
      if (if_new.runtime_role) store::grant_runtime_role(connection, *if_new.runtime_role, transaction);
      if (if_new.functions)
        store::install_functions(connection, *if_new.functions, migrations.back().number, transaction);
    });
  });
}

}  // namespace leaf
