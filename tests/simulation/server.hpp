#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulation/ledger.hpp"
#include "simulation/log.hpp"
#include "simulation/scheduler.hpp"
#include "simulation/store_model.hpp"

namespace leaf::simulation {

/// How often what goes wrong between a client and the server: one time in so many, 0 for never.
struct NetworkFaults {
  std::int64_t lost_request = 0;
  std::int64_t lost_reply = 0;
  std::int64_t warning = 0;
  std::int64_t conflict = 0;
  std::int64_t delay = 0;
  std::int64_t refused_login = 0;
  Time longest_delay = 12 * second;

  bool operator==(const NetworkFaults&) const = default;
};

/// Of two stores the other one's IDs begin here, and the first one's end before.
inline constexpr std::int64_t first_of_another_store = 1'000'000'000'000;

/// The database server of a history, and the network that leads there. The library reaches it by its own
/// driver interface. Its name may lead to another store for a while: what is said of the server here is said
/// of the one that the name leads to.
class Server {
 public:
  Server(Random& random, Ledger& ledger, Log& log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  static Server& the() noexcept { return *the_; }

  StoreModel model{};
  NetworkFaults network{};
  Time clock_offset = 0;                 ///< its clock less true time
  Time furthest_ahead = 0;               ///< the most that ever was
  Time slowness = 0;                     ///< how long each request takes at least
  std::function<void()> on_delivered{};  ///< what was granted of a tag has reached who asked; may be empty
  bool is_unreachable = false;           ///< while it is down, rather than on its way up
  /// Names of tags, of both stores, so that grants can be told to the ledger.
  std::vector<std::string> tag_names{};
  /// No segment has more IDs than that, or than a step of its tag that somebody was told of.
  std::int64_t longest_segment = 0;

  std::int64_t clock_ms() const;
  bool is_down() const;
  /// No login succeeds, and no reply comes, for so long.
  void go_down(Time duration);
  /// It stands still for so long, and goes on where it was.
  void fall_silent(Time duration);
  /// Somebody's transaction holds that tag's row for so long.
  void lock_row(const std::string& tag, Time duration);
  /// From when on nothing has kept anybody from being granted IDs of that tag, or workers where it is empty:
  /// the store answers, and nobody was stopped or led elsewhere.
  Time calm_since(const std::string& tag) const;
  /// When the server went away last, if nothing has happened since.
  bool is_disturbed_by_outage() const noexcept { return disturbed_at_ == went_down_at_; }
  /// How long the pauses between attempts have grown by then at most: as long as the last trouble lasted.
  Time grown_pause() const;
  /// Until when the server kept somebody waiting last; 0: it never has.
  Time trouble_until() const noexcept { return trouble_until_; }
  /// When the operator changed a tag last.
  Time tags_changed_at() const noexcept { return tags_changed_at_; }
  /// The name leads to the other store from now on. What is connected stays with the former one, or breaks.
  void repoint(bool breaks_connections);
  /// The other store is a copy of this one from now on. It counts as another server, which leaves out a guard
  /// at first; or, as where an operator said that it lost nothing, it goes on as if it were the same.
  void copy(bool lost_nothing);
  /// Which copy the name leads to, a higher number for a later one. Hosts have a buffer for each.
  std::int64_t copy_number();
  /// 0, or 1 for the other one.
  int store() const noexcept { return store_; }
  std::string deployment_of(int store) const {
    return (store == store_ ? model : aside_.model).tables.meta.deployment.text();
  }
  /// Another number once something has kept anybody from looking where the name leads.
  int disturbances() const noexcept { return disturbances_; }
  Time disturbed_at() const noexcept { return disturbed_at_; }
  void note_disturbance() noexcept;
  /// Since when the name has not led to the other store.
  Time turned_at() const noexcept { return turned_at_; }
  /// Whether connections of before still lead there.
  bool leaves_connections() const noexcept { return leaves_connections_; }
  /// Takes the place of what is there, such as a standby that lacks the last commits. Connections break.
  void become(const Tables& tables, const ServerName& name);

  /// What a standby that lags by `commits`, or a backup of then, has; the first of all at the earliest.
  const Tables& before(std::size_t commits) const;
  std::size_t commits() const noexcept { return commits_.size() - 1; }
  /// What is there now counts as the first of all: nothing before comes back.
  void forget_commits();

  struct Reply {
    StoreModel::Rows rows{};
    std::string sqlstate{};  ///< empty: it is a good one
    std::string error{};
    int code = 0;
  };

  // For connections:

  /// Which connections `store` still serves: another number once they are broken.
  int session(int store) const noexcept { return store == store_ ? session_ : aside_.session; }
  Reply run(int store, const char* statement, StoreModel::Parameters parameters, int host, int process);
  /// How many have arrived.
  std::uint64_t requests() const noexcept { return requests_; }
  Random& random() noexcept { return random_; }
  Time latency();
  bool is_silent() const;
  Time silent_until() const noexcept { return silent_until_; }
  /// When it comes to a request that has arrived now.
  Time turn_of(const char* statement, StoreModel::Parameters parameters) const;
  /// A process has what it was granted.
  void tell_delivery(const char* statement, StoreModel::Parameters parameters, const StoreModel::Rows& rows);
  void note_connection(int process, int change) { connections_[process] += change; }
  /// A process of that host is about to ask, or to connect for that.
  void note_question(int host, int process, const char* statement);
  /// When somebody of a host did so last.
  Time asked_at(int host) const {
    const auto found = asked_at_.find(host);
    return found == asked_at_.end() ? 0 : found->second;
  }
  /// How often a process has asked where the name leads.
  int name_questions(int process) const {
    const auto found = name_questions_.find(process);
    return found == name_questions_.end() ? 0 : found->second;
  }
  /// How many a process has open.
  int connections_of(int process) const;

 private:
  /// The store that the name does not lead to.
  struct Aside {
    StoreModel model{};
    std::vector<Tables> commits{Tables()};
    Time clock_offset = 0;
    int session = 0;
  };
  void exchange() noexcept;
  Reply run(const char* statement, StoreModel::Parameters parameters, int host, int process);
  void tell_grants(const char* statement, StoreModel::Parameters parameters, const StoreModel::Rows& rows,
                   int host, int process);
  std::int64_t window_end_of(std::int64_t worker) const;
  void say_lease(std::string_view what, int process, std::int64_t worker) const;

  static Server* the_;

  Random& random_;
  Ledger& ledger_;
  Log& log_;
  std::vector<Tables> commits_{Tables()};
  int session_ = 0;
  std::uint64_t requests_ = 0;
  int store_ = 0;
  Aside aside_{};
  Time down_until_ = 0;
  Time went_down_at_ = -1;
  int disturbances_ = 0;
  Time disturbed_at_ = 0;
  Time turned_at_ = 0;
  bool leaves_connections_ = false;
  void note_trouble(Time until);
  Time silent_until_ = 0;
  Time trouble_since_ = 0;
  Time trouble_until_ = 0;
  Time tags_changed_at_ = 0;
  std::map<std::string, Time> locked_until_{};
  std::map<int, int> connections_{};
  std::map<int, Time> asked_at_{};
  std::map<int, int> name_questions_{};
  std::vector<std::pair<std::int64_t, std::int64_t>> copies_{};  ///< their servers and tables
  std::map<std::string, std::int64_t> longest_steps_{};
};

}  // namespace leaf::simulation
