#include "terminal/fetch_log.hpp"

#include <fmt/format.h>
#include <syslog.h>

#include "terminal/hint_text.hpp"
#include "terminal/remedy_text.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

void log_fetch_change(const leaf::FetchChange& change) {
  const bool fails = !change.failure.empty();
  std::string text = fmt::format("fetching a {} from store '{}' {}", change.what, change.store,
                                 fails ? "fails: " + change.failure : "succeeds again");
  if (!change.hint.empty())
    text += fmt::format(" (hint: {})", hint_for_store(hint_text(change.hint, change.remedies), change.store));
  openlog("leafctl", LOG_PID, LOG_USER);
  syslog(fails ? LOG_WARNING : LOG_NOTICE, "%s", escape_for_terminal(text).c_str());
}

}  // namespace leafctl
