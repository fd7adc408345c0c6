#include "doctor/rights_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "doctor/sql_identifier.hpp"
#include "leaf/detail/shell_word.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

using leaf::StoreHealth;
using leaf::StoreMedium;

Check check_rights(const StoreHealth& health) {
  if (health.missing_rights.empty()) {
    const std::string who =
        health.medium == StoreMedium::server ? fmt::format("role '{}'", health.role) : "this user";
    return {"rights", CheckState::ok, who + " may draw IDs and lease workers"};
  }
  const std::string missing = fmt::format("{}", fmt::join(health.missing_rights, ", "));
  if (health.medium != StoreMedium::server) {
    if (health.is_read_only) {
      return {"rights", CheckState::failed, "the store's file system is read-only",
              "find out why in the kernel's log, and mount it for writing"_hint};
    }
    return {"rights", CheckState::failed, "this user lacks " + missing,
            "let this user write there with 'chown' or 'chmod', or use the store as its owner"_hint};
  }
  return {"rights", CheckState::failed, fmt::format("role '{}' lacks {}", health.role, missing),
          fmt::format("as the owner of the tables, run 'leafctl init-db --runtime-role {}'"_hint,
                      leaf::detail::shell_word(health.role))};
}

std::string revoke_creation(const std::string& schema, const std::string& roles) {
  return fmt::format("run 'REVOKE CREATE ON SCHEMA {} FROM {}'"_hint, schema, roles);
}

/// What they create is not called, but could look like a store, and be in the way of a later version's
/// tables.
std::optional<Check> check_creators(const StoreHealth& health) {
  if (health.schema_creators.empty()) return std::nullopt;
  const std::string roles = fmt::format("{}", fmt::join(health.schema_creators, ", "));
  return Check{"rights", CheckState::warning,
               fmt::format("{} may create objects beside the tables, in schema {}", roles, health.schema),
               revoke_creation(health.schema, roles)};
}

std::string change_owner(const std::string& schema, const std::string& owner) {
  return fmt::format("as a superuser, run 'ALTER SCHEMA {} OWNER TO {}'"_hint, schema, owner);
}

/// An owner drops what others have made in its schema.
std::optional<Check> check_owners(const StoreHealth& health) {
  if (health.schema_owners.empty()) return std::nullopt;
  return Check{"rights", CheckState::warning,
               fmt::format("{} may replace the functions and triggers of the store, by owning schema {}",
                           fmt::join(health.schema_owners, ", "), health.schema),
               change_owner(health.schema, health.table_owner)};
}

/// What somebody else may have called instead of the functions.
Checks check_rivals(const leaf::StoreFunctions& functions) {
  Checks found;
  if (!functions.creators.empty()) {
    found.push_back(
        {"rights", CheckState::warning,
         fmt::format("{} may create functions beside those in schema '{}', and have a call run them",
                     functions.creators, functions.schema),
         revoke_creation(sql_identifier(functions.schema), functions.creators)});
  }
  if (!functions.schema_owner.empty()) {
    found.push_back({"rights", CheckState::warning,
                     fmt::format("{} may replace the functions in schema '{}', which it owns",
                                 functions.schema_owner, functions.schema),
                     change_owner(sql_identifier(functions.schema), functions.owner)});
  }
  if (!functions.others.empty()) {
    found.push_back({"rights", CheckState::warning,
                     fmt::format("schema '{}' has functions of the same names that are not the store's: {}",
                                 functions.schema, functions.others),
                     "look who has called them, and drop them with DROP FUNCTION"_hint});
  }
  return found;
}

}  // namespace

Checks rights_checks(const StoreHealth& health) {
  Checks checks;
  if (health.schema_version != 0) checks.push_back(check_rights(health));
  if (const auto check = check_owners(health)) checks.push_back(*check);
  if (const auto check = check_creators(health)) checks.push_back(*check);
  for (const leaf::StoreFunctions& functions : health.functions)
    std::ranges::move(check_rivals(functions), std::back_inserter(checks));
  return checks;
}

}  // namespace leafctl
