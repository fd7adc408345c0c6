#include "tags/buffered_ids.hpp"

#include <fmt/format.h>

#include "cli/missing_store.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"

namespace leafctl {

std::uint64_t drop_buffered_ids(leaf::Store& store, const std::vector<TagFloor>& tags, Session& session) {
  const auto host = session.host();
  if (!host) return 0;
  follow_store(session, store);
  std::uint64_t all = 0;
  try {
    const leaf::StoreIdentity identity = store.identity();
    for (const auto& [tag, floor] : tags) {
      try {
        const std::uint64_t dropped =
            leaf::drop_host_buffer(identity, *host, tag, floor, session.settings().timeout);
        if (dropped > 0) {
          session.messages.detail(
              fmt::format("discarded {} IDs of tag '{}' that this host had buffered", dropped, tag.str()));
        }
        all += dropped;
      } catch (const leaf::Error& error) {
        session.messages.warning(error.what(), hint_text(error));
      }
    }
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), hint_text(error));
  }
  return all;
}

void drop_windows_ahead(leaf::Store& store, const std::string& owner, std::optional<std::int64_t> worker,
                        Session& session) {
  const auto host = session.host();
  if (!host) return;
  follow_store(session, store);
  const Settings& settings = session.settings();
  try {
    const int dropped = leaf::drop_host_windows_ahead(store.identity(), *host, owner, worker,
                                                      settings.max_backward, settings.timeout);
    if (dropped > 0) session.messages.info("discarded what this host had buffered ahead of its clock");
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), hint_text(error));
  }
}

void warn_of_former_store(Session& session) {
  if (!session.host() || !has_place_for_store(session) || !has_known_store(session)) return;
  // By a connection of its own, which may only pretend that there is a file.
  const auto pending = session.store().pending_migrations();
  if (pending.empty() || pending.front().number != 1) return;
  session.messages.alarm(
      "this host knows another store of that name, whose IDs the new one gives out again",
      "if they are in use anywhere, start each tag above them with 'leafctl add-tag TAG --start ID'"_hint);
}

void forget_former_store(Session& session) {
  const auto host = session.host();
  if (!host) return;
  try {
    leaf::forget_store(session.settings().store, *host, session.settings().timeout);
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), hint_text(error));
  }
}

void leave_deployment(const leaf::StoreIdentity& former, leaf::Store& store, Session& session) {
  const auto host = session.host();
  if (!host) return;
  try {
    leaf::forget_store(former, *host, session.settings().timeout);
    leaf::refresh_store_name(session.settings().store, *host, store);
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), hint_text(error));
  }
}

}  // namespace leafctl
