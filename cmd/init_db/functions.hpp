#pragma once

#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "terminal/messages.hpp"

namespace leafctl {

/// Replaces the SQL functions that go with another layout or deployment, or with an earlier release, as far
/// as the present role may. Returns their schemas. Throws as leaf::Store does.
std::vector<std::string> renew_functions(leaf::Store& store, Messages& messages);

/// Names who may create objects where the tables and the functions lie. Throws as leaf::Store does.
void warn_of_creators(leaf::Store& store, Messages& messages);

}  // namespace leafctl
