#include "store/table_faults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf {

std::string how_to_undo(const std::vector<TableFault>& faults) {
  // What takes a table's place comes first, and hides what else there is.
  if (std::ranges::any_of(faults, [](const TableFault& fault) { return fault.remedy.empty(); })) {
    return "find out who replaced the table, and put it back, from a backup if need be; a new store would "
           "repeat IDs"_hint;
  }
  std::vector<std::string_view> remedies;
  for (const TableFault& fault : faults) remedies.push_back(fault.remedy);
  return fmt::format("as the owner or a superuser, run '{}'"_hint, fmt::join(remedies, "; "));
}

namespace store {

void require_no_table_fault(Connection& connection, std::chrono::milliseconds timeout) {
  const auto faults = find_table_faults(connection, timeout);
  if (!any_stops_grants(faults)) return;
  std::vector<std::string_view> found;
  for (const TableFault& fault : faults) found.push_back(fault.what);
  throw Error(ErrorCode::refused,
              fmt::format("the store's tables are not as they were made: {}", fmt::join(found, ", ")),
              how_to_undo(faults));
}

bool may_be_table_fault(const Error& error) {
  const std::string_view state = error.sqlstate();
  // No such statement where there are rules; more rows than the key allows; a log of changes that is out of
  // reach. A right that the role lacks is a mistake in usage.
  return state == "0A000" || state == "21000" ||
         (state == sqlstate::insufficient_privilege && error.code() == ErrorCode::refused);
}

}  // namespace store

}  // namespace leaf
