#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// `hint` with `option`, such as "--store URL", in each command of this program that it names: what was named
/// on the command line would else be missing where the reader follows the hint. A command that names a store
/// itself stays as it is, as does everything where `option` is empty. `for_group`: with "--group" too, if the
/// command takes that: another folder knows nothing of what the group was granted.
std::string with_option(std::string_view hint, std::string_view option, bool for_group = false);

/// The option that names the store at `url`, for with_option(). A password, which others would see, is left
/// out with the rest of the URL.
std::string store_option(const std::string& url);

/// `hint` for a reader whose commands may lead to another store, as one of a log or a page: what helps one
/// store may harm another, so each command names the store at `url`.
std::string hint_for_store(std::string_view hint, const std::string& url);

}  // namespace leafctl
