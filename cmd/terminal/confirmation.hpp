#pragma once

#include <string_view>

#include "terminal/messages.hpp"

namespace leafctl {

/// Throws leaf::Error (usage), naming `what`, such as "removing tag 'x'", where there is no terminal to ask
/// on.
void require_terminal_to_ask(std::string_view what, const Messages& messages);

/// Asks `question` on the terminal. Throws leaf::Error (failed) with `refusal` unless the answer is yes.
void require_yes(std::string_view question, std::string_view refusal, Messages& messages);

}  // namespace leafctl
