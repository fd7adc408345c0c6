#include "tags/granted_marks.hpp"

#include <fmt/format.h>

namespace leafctl {

void warn_of_missing_marks(Session& session) {
  if (session.settings().runtime_dir.empty()) return;
  const auto why = leaf::why_no_host_marks(session.host_options());
  if (!why) return;
  session.messages.warning(
      fmt::format(
          "this host does not know what it was granted, and would not notice a store that was put back: {}",
          why->what()),
      why->hint());
}

}  // namespace leafctl
