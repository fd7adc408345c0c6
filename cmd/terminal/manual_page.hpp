#pragma once

#include <string>

namespace leafctl {

/// Shows a page such as "leafctl-next" by man(1) and returns when the reader has left it. False, with nothing
/// shown, where man or the page is not there.
bool show_manual_page(const std::string& page);

}  // namespace leafctl
