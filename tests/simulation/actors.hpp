#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "simulation/damages.hpp"
#include "simulation/history.hpp"
#include "simulation/ledger.hpp"
#include "simulation/log.hpp"
#include "simulation/mark_users.hpp"
#include "simulation/scenario.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace leaf::simulation {

/// How the clock of those is set who know it, and what was made by it.
struct ClockWatch {
  Time reached = 0;         ///< the newest ID, or the latest time that a clock showed before it was set
  Time most_behind = 0;     ///< during a call: by how much the clock was behind that
  bool was_far = false;     ///< during a call: it was far from right
  bool is_spoiled = false;  ///< what it had leased far ahead is still there
  Time store_back_at = 0;   ///< the end of the last outage
};

/// When the store was away, for those who had it go away.
struct OutageWatch {
  Time back_at = 0;         ///< the last time
  Time pause = 0;           ///< how long it may take at most from then until somebody asks again
  std::size_t commits = 0;  ///< of the store, when it went away
  bool was_silent = false;  ///< it has let somebody wait rather than refuse
};

/// What was done in a history.
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t failed_calls = 0;
  std::uint64_t processes = 0;
  bool is_over = false;    ///< who draws again and again comes to an end
  Time patience_ends = 0;  ///< until when who has lived through the faults asks again
  int probes = 0;          ///< programs that have to get IDs once all faults have ended
  int good_probes = 0;     ///< and have got some
  std::string last_error{};
  /// By host and tag, or by host and owner; host 0 is that of all.
  std::map<std::pair<int, std::string>, Ledger::Order> orders{};
  std::map<int, std::int64_t> may_be_lost{};               ///< of each tag, by calls that failed
  std::map<int, Time> shortest_timeouts{};                 ///< by host, of those who share its buffers
  std::map<int, Time> timeouts{};                          ///< by process, of the same
  Time program_ended_at = 0;                               ///< the last time
  std::map<std::pair<int, std::string>, Time> drawn_at{};  ///< by process, 0 for the host's, and tag
  std::set<int> unordered{};                               ///< hosts on which no order is promised any more
  bool has_limited = false;                                ///< an operator has limited a tag
  bool is_doubtful = false;                                ///< a store or a file is not what it was
  std::map<int, Time> folder_removed_at{};                 ///< by host, the last time
  std::map<const Process*, Time> waited_at_removal{};      ///< of those that were there then, as kept_waiting
  Time check_given_up_at = 0;                              ///< the last time that nobody saw a name checked
  Damages damages{};
  MarkedGrants marked{};
  ClockWatch clocks{};
  OutageWatch outages{};
  Time all_go_on_at = 0;  ///< the end of the last stop of a process
};

/// Where a program runs, and who looks at it.
struct Place {
  Host& host;
  const Scenario& scenario;
  Ledger& ledger;
  Log& log;
  Tally& tally;
};

/// Starts a program.
Process& launch(const Place& place, ActorKind kind);
/// Starts programs that draw until they have an ID, or the deadline has come, and take the remedies that
/// errors propose: one of a tag, one of a worker.
void start_probes(const Place& place, Time deadline);

/// The options of all who use that host's runtime folder.
HostOptions host_options(bool fetch_ahead);
StoreOptions store_options();
std::string owner_of(const Host& host);

}  // namespace leaf::simulation
