#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/postgresql/servers.hpp"
#include "store/postgresql/session.hpp"

namespace leaf::store::postgresql {

struct Resolution {
  Servers servers;                    ///< each address of a name counts as a server, in the same order
  std::vector<std::string> failures;  ///< why a name has none, a sentence for each
  bool is_anybody_left = true;        ///< false: no name has an address, and no server was named otherwise
};

/// How the failure of a lookup begins if there was no thread for it: nobody was asked.
inline constexpr std::string_view no_thread = "no thread could be started";

/// Gives every name its addresses, since libpq waits for a silent name server without regard to a deadline.
/// With several servers half of the time is left for those that are found. Lists that do not fit together,
/// and what is no name, stay as they are.
Resolution resolve(const Servers& servers, Deadline deadline);

}  // namespace leaf::store::postgresql
