#include "terminal/fetch_log.hpp"

#include <fmt/format.h>
#include <syslog.h>

#include "terminal/remedy_text.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

std::string fetch_change_text(const leaf::FetchChange& change, const HintedOptions& options) {
  std::string text = fmt::format("fetching a {} from store '{}' {}", change.what, change.store,
                                 change.failure.empty() ? "succeeds again" : "fails: " + change.failure);
  if (!change.hint.empty())
    text += fmt::format(" (hint: {})", with_options(hint_text(change.hint, change.remedies), options));
  return text;
}

void log_fetch_change(const leaf::FetchChange& change, const HintedOptions& options) {
  openlog("leafctl", LOG_PID, LOG_USER);
  syslog(change.failure.empty() ? LOG_NOTICE : LOG_WARNING, "%s",
         escape_for_terminal(fetch_change_text(change, options)).c_str());
}

}  // namespace leafctl
