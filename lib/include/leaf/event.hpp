#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leaf/layout.hpp"

namespace leaf {

/// One change by administration.
struct Event {
  UnixTime time;        ///< by the store's clock
  std::string who;      ///< PostgreSQL: the role that logged in; SQLite: the user; empty if nobody knows
  std::string program;  ///< PostgreSQL: its application_name; else empty
  /// "add", "update", "raise" or "remove" of a tag, "free" of a worker, "deployment" of the store.
  std::string event;
  std::string tag;  ///< empty: none
  std::optional<std::int64_t> worker{};
  std::string detail;  ///< what became what, for people
};

}  // namespace leaf
