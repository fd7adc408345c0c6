#include "terminal/confirmation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

void require_terminal_to_ask(std::string_view what, const Messages& messages) {
  if (isatty(STDIN_FILENO) == 1 && messages.is_terminal()) return;
  throw leaf::Error(leaf::ErrorCode::usage, fmt::format("{} needs confirmation", what),
                    "add '--yes' to do it without being asked"_hint);
}

void require_yes(std::string_view question, std::string_view refusal, Messages& messages) {
  if (!messages.confirm(question)) throw leaf::Error(leaf::ErrorCode::failed, std::string(refusal));
}

}  // namespace leafctl
