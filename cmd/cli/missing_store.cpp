#include "cli/missing_store.hpp"

#include <filesystem>
#include <string_view>

#include "leaf/detail/known_store.hpp"
#include "leaf/host.hpp"

namespace leafctl {

bool has_place_for_store(const Session& session) {
  constexpr std::string_view sqlite = "sqlite:";
  const std::string& store = session.settings().store;
  if (!store.starts_with(sqlite)) return true;
  std::error_code unknown;
  const auto path = std::filesystem::absolute(store.substr(sqlite.size()), unknown);
  // Only what is not there: a folder that may not be looked into is another matter.
  return unknown || std::filesystem::exists(path.parent_path(), unknown) || unknown;
}

std::optional<leaf::StoreIdentity> known_store(const Session& session) {
  if (session.settings().runtime_dir.empty()) return std::nullopt;
  try {
    return leaf::last_known_store(session.settings().store, session.host_options());
  } catch (const leaf::Error&) {
    return std::nullopt;  // whoever draws is told
  }
}

bool has_known_store(const Session& session) {
  return known_store(session).has_value();
}

void remember_store(const Session& session, leaf::Store& store, const leaf::StoreIdentity& found) {
  if (session.settings().runtime_dir.empty() || known_store(session) == found) return;
  try {
    leaf::remember_store_name(session.settings().store, session.host_options(), store);
  } catch (const leaf::Error&) {
    // As above.
  }
}

void follow_store(const Session& session, leaf::Store& store) {
  if (!has_known_store(session)) return;
  try {
    remember_store(session, store, store.identity());
  } catch (const leaf::Error&) {
    // It is noticed within a minute.
  }
}

leaf::Error with_known_store(const leaf::Error& error, const Session& session) {
  if (has_place_for_store(session) && !leaf::detail::says_to_create_store(error)) return error;
  if (!has_known_store(session)) return error;
  return {error.code(), error.what(), leaf::detail::known_store_hint(), error.sqlstate()};
}

}  // namespace leafctl
