#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leaf::store {

/// What libpq takes from the environment to find a database: a line `NAME=value` for each variable that is
/// set and not empty, and one for the effective user.
std::string libpq_variables(const std::function<std::optional<std::string>(const char*)>& variable,
                            const std::string& user_id);
/// The same of this process, now.
std::string libpq_variables();

/// The value of one of those in the lines of all; none if it is not set.
std::optional<std::string> libpq_variable(const char* name, std::string_view lines);

/// Where libpq looks for services by such `variables`, whether there are such files or not.
std::vector<std::string> libpq_service_files(const std::string& variables);

/// Throws Error (usage) if `conninfo` may lead elsewhere by the variables that this process has now than by
/// `named_by`, which it had when the store was named.
void require_same_variables(const std::string& conninfo, const std::string& named_by);

}  // namespace leaf::store
