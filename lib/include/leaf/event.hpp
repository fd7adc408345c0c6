#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leaf/layout.hpp"

namespace leaf {

/// One administrative change.
struct Event {
  UnixTime time;        ///< by the store's clock
  std::string who;      ///< PostgreSQL: the role that logged in; SQLite: the user; empty if unknown
  std::string program;  ///< PostgreSQL: its application_name; else empty
  /// "add", "update", "raise" or "remove" of a tag, "free" of a worker, "deployment" of the store.
  std::string event;
  std::string tag;  ///< empty: none
  std::optional<std::int64_t> worker{};
  std::string detail;  ///< the old and new values, for people
};

}  // namespace leaf
