#pragma once

#include <optional>
#include <vector>

#include "leaf/clock.hpp"
#include "leaf/layout.hpp"
#include "leaf/worker.hpp"
#include "store/connection.hpp"
#include "store/migrations.hpp"

namespace leaf::store {

/// What a store leases.
struct WorkerPool {
  Layout layout;
  WorkerRange workers;
  bool is_all;    ///< of the layout, whatever that is
  bool is_fixed;  ///< the layout: IDs were made with it
  std::string deployment;
};

/// Throws Error (usage) if no store leases the workers of `range`, or all if it is absent, in `layout`.
void require_pool(const Layout& layout, const std::optional<WorkerRange>& range);

/// Sets what a store leases that is made in this transaction: nobody has leased from it. Throws as
/// require_pool().
void set_first_pool(Connection& connection, const std::optional<Layout>& layout,
                    const std::optional<WorkerRange>& range, UnixTime host_now,
                    const Transaction& transaction);

/// The last worker of `layout` that can be leased.
std::int64_t last_leasable(const Layout& layout);

/// `found` is what Sql::layout gave.
WorkerPool pool_of(const std::vector<Row>& found);

/// Until when no worker is leased, after another server took the place of the one that leased last, so that
/// every window is over that it may not know; nothing if that is no more. `found` is what Sql::leases_from
/// gave.
std::optional<UnixTime> wait_for_leases(const std::vector<Row>& found, UnixTime host_now);

}  // namespace leaf::store
