#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// `hint` with `option`, such as "--store URL", in each command of this program that it names: what was named
/// on the command line would else be missing where the reader follows the hint. A command that names a store
/// itself stays as it is, as does everything where `option` is empty.
std::string with_option(std::string_view hint, std::string_view option);

}  // namespace leafctl
