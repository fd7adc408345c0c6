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

/// A text that two URLs share only if they lead to the same target.
std::string identity_text(std::string_view url);

}  // namespace leaf::store
