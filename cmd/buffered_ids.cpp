#include "buffered_ids.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "leaf/host.hpp"

namespace leafctl {

void drop_buffered_ids(const leaf::TagName& tag, std::int64_t floor, Session& session) {
  const auto host = session.host();
  if (!host) return;
  try {
    const std::uint64_t dropped =
        leaf::drop_host_buffer(session.settings().store, *host, tag, floor, session.settings().timeout);
    if (dropped > 0) {
      session.messages.detail(
          fmt::format("gave up {} IDs of tag '{}' that this host had buffered", dropped, tag.str()));
    }
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), error.hint());
  }
}

void drop_windows_ahead(const std::string& owner, std::optional<std::int64_t> worker, Session& session) {
  const auto host = session.host();
  if (!host) return;
  const Settings& settings = session.settings();
  try {
    const int dropped = leaf::drop_host_windows_ahead(settings.store, *host, owner, worker,
                                                      settings.max_backward, settings.timeout);
    if (dropped > 0) session.messages.info("gave up what this host had buffered ahead of its clock");
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), error.hint());
  }
}

void drop_all_buffered_ids(Session& session) {
  const auto host = session.host();
  if (!host) return;
  try {
    leaf::drop_host_buffers(session.settings().store, *host, session.settings().timeout);
  } catch (const leaf::Error& error) {
    session.messages.warning(error.what(), error.hint());
  }
}

}  // namespace leafctl
