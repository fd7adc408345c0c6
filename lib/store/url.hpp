#pragma once

#include <string>
#include <string_view>

namespace leaf::store {

/// Which driver a store's URL is for, and what that driver is given.
struct Url {
  std::string driver;  ///< "sqlite" or "postgresql"
  std::string target;  ///< the path, or a libpq connection string
};

/// Throws Error (usage) if `url` is neither `sqlite:PATH` nor a libpq URL nor key=value pairs.
Url parse_url(std::string_view url);

/// `url` with a relative `sqlite:PATH` made absolute, so that it keeps its meaning when the working folder
/// changes. Throws Error (usage) as parse_url() does.
std::string absolute_url(const std::string& url);

/// One text for all URLs that lead to the same target, and another one for any other: each parameter of a
/// connection string in one order, in whatever form it was given, less secrets and what leads nowhere
/// (application_name, client_encoding, timeouts, keepalives). What libpq adds from the environment, a service
/// or by itself is not in it. Of `sqlite:PATH` it is that, with the path as given.
/// A text that does not parse is in it as it is, with the password that it may hold: hash it, never show it.
std::string identity_text(std::string_view url);

}  // namespace leaf::store
