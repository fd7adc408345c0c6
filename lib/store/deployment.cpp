#include <fmt/format.h>

#include "leaf/store.hpp"
#include "store/migrations.hpp"
#include "store/store_impl.hpp"
#include "store/uuid.hpp"
#include "text/hint.hpp"

namespace leaf {

StoreIdentity Store::begin_new_deployment(const std::string& former) {
  const std::string fresh = store::new_uuid();
  impl_->administer([&](store::Connection& connection, store::TimeLeft left) {
    store::require_newest(store::read_schema(connection, left), impl_->driver().migrations());
    store::Transaction transaction(connection, left);
    const store::Value names[] = {former, fresh};
    if (!connection.execute(connection.sql().begin_deployment, names, left).empty()) {
      connection.execute(connection.sql().note_deployment, names, left);
      transaction.commit();
      return;
    }
    const auto found = connection.execute(connection.sql().identity, {}, left);
    if (found.empty()) throw store::lost_meta_row();
    const std::string here = store::identity_of(found[0], 0, connection).deployment;
    if (here == fresh) return transaction.confirm();  // by an attempt whose reply was lost
    throw Error(ErrorCode::refused, fmt::format("the store is deployment {} by now, not {}", here, former),
                "check which store it is, then decide"_hint);
  });
  impl_->look_anew();
  return identity();
}

}  // namespace leaf
