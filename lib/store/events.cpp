#include "leaf/event.hpp"

#include "leaf/store.hpp"
#include "store/store_impl.hpp"

namespace leaf {

std::vector<Event> Store::events(const std::optional<TagName>& tag, UnixTime since) {
  std::vector<Event> events;
  const store::Value name = tag ? store::Value(tag->str()) : store::Value();
  for (const store::Row& row : impl_->as_owner([&] {
         return impl_->execute(&store::Sql::events, {name, since.time_since_epoch().count()});
       })) {
    events.push_back({.time = UnixTime(std::chrono::milliseconds(row.integer(0))),
                      .who = row.text(1),
                      .program = row.text(2),
                      .event = row.text(3),
                      .tag = row.text(4),
                      .worker = row.integer_or_null(5),
                      .detail = row.text(6)});
  }
  return events;
}

}  // namespace leaf
