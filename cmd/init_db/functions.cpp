#include "init_db/functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "leaf/detail/shell_word.hpp"
#include "leaf/health.hpp"
#include "text/hint.hpp"

namespace leafctl {

using leaf::detail::shell_word;

std::vector<std::string> renew_functions(leaf::Store& store, Messages& messages) {
  const leaf::StoreHealth health = store.health();
  std::vector<std::string> renewed;
  if (health.schema_version.value_or(0) > health.newest_schema_version) return renewed;
  for (const leaf::StoreFunctions& functions : health.functions) {
    if (functions.state == leaf::StoreFunctions::State::current) continue;
    if (!functions.may_be_replaced) {
      messages.warning(fmt::format("the functions in schema '{}' are another role's, and stay as they were",
                                   functions.schema),
                       fmt::format("as that role, run 'leafctl init-db --functions {}'"_hint,
                                   shell_word(functions.schema)));
      continue;
    }
    renewed.push_back(store.install_functions(functions.schema));
    messages.info(fmt::format("renewed the functions in schema '{}'", renewed.back()));
  }
  return renewed;
}

void warn_of_creators(leaf::Store& store, Messages& messages) {
  const leaf::StoreHealth health = store.health();
  if (!health.schema_owners.empty()) {
    messages.warning(
        fmt::format("{} may replace the functions and triggers of the store, by owning schema {}",
                    fmt::join(health.schema_owners, ", "), health.schema));
  }
  // What they create is not called, but is in the way of a later version's tables.
  if (!health.schema_creators.empty()) {
    messages.warning(fmt::format("{} may create objects beside the tables, in schema {}",
                                 fmt::join(health.schema_creators, ", "), health.schema));
  }
  for (const leaf::StoreFunctions& functions : health.functions) {
    if (!functions.schema_owner.empty()) {
      messages.warning(fmt::format("{} may replace the functions in schema '{}', which it owns",
                                   functions.schema_owner, functions.schema));
    }
    if (functions.creators.empty()) continue;
    messages.warning(
        fmt::format("{} may create functions beside those in schema '{}', and have a call run them",
                    functions.creators, functions.schema));
  }
}

}  // namespace leafctl
