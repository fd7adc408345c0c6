#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/layout.hpp"
#include "leaf/range.hpp"

namespace leaf {

/// A tag that is affected by a change of the database's server.
struct FailoverTag {
  enum class State {
    waiting,   ///< leaves out the guard at its next change
    left_out,  ///< has left out IDs
    no_room,   ///< the guard goes past its limit: it grants nothing
    kept,      ///< goes on where it was
  };

  std::string name;
  State state = State::waiting;
  std::string granted_by{};  ///< the server of its last change; empty where that is the present one
  std::optional<Range> left_out{};
  bool is_removed = false;  ///< it waits, and leaves out the guard when it is added again
};

/// What has been waiting since another server, which may lack commits, took over.
struct Failover {
  std::string server;             ///< the present one, its history and the tables; empty: unknown
  std::vector<FailoverTag> tags;  ///< that wait, or have left out IDs, by name
  bool leases_wait = false;
  /// No worker is leased before this; absent: the wait begins when the first is asked for.
  std::optional<UnixTime> leases_from{};
};

/// What an operator knows about the commits of the server that this one replaced.
enum class Commits {
  may_be_lost,
  all_there,                  ///< says nothing about servers before that one
  all_there_on_every_server,  ///< says it about each change of servers since the last grants
};

}  // namespace leaf
