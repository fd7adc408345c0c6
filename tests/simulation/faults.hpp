#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "simulation/actors.hpp"

namespace leaf {
class Store;
}

namespace leaf::simulation {

/// Makes what a plan allows happen, at moments that chance picks, with the remedies that the manual asks
/// operators for.
class Faults {
 public:
  Faults(const Plan& plan, Random& random, const Scenario& scenario, Server& server, Ledger& ledger, Log& log,
         Tally& tally, std::vector<std::unique_ptr<Host>>& hosts);

  /// Perhaps one of them, now.
  void happen();
  /// All clocks are set right, the server answers, and whoever was stopped goes on.
  void end();
  /// While a store is restored no program starts.
  bool is_restoring() const noexcept { return restoring_ > 0; }

  using Counts = std::array<std::uint64_t, fault_names.size()>;
  const Counts& counts() const noexcept { return counts_; }

 private:
  bool make_happen(Fault fault);
  bool be_silent_for_long();
  bool kill_one();
  bool stop_one();
  void stop(Process& process, Time duration);
  void stop_for_calls(Process& process);
  /// Stops it until others have made some calls, or for a while; or it dies. Or returns for how long the
  /// thread that runs does not go on.
  Time stop_straggler(Process& process);
  void hand_over(Process& process);
  /// The same for who has come to a place where it is held up.
  Time hold_up(Process& process);
  void wake_stragglers();
  void reboot_one(Host& host);
  bool leave_relics();
  void find_relics(Host& host, std::vector<KeptFile>& files);
  bool damage();
  bool damage_in_use();
  void lose_marks();
  bool forget();
  bool set_clock();
  bool stop_clock();
  void note_clock_set(Host& host);
  bool fail_over();
  bool restore();
  bool set_back();
  ServerName some_restored();
  bool recycle();
  Time time_of_last_id(const Host& host) const;
  void release(Host& host);
  bool change();
  void perhaps_repoint();
  void turn();
  /// What only a control does; true if it did.
  bool break_promise();
  bool copy_folder();

  Process* some_process();
  /// Who holds the lock of a buffer's file.
  Process* some_fetcher();
  Process* some_victim();
  Host& some_host();
  Place place_of(Host& host) { return {host, scenario_, ledger_, log_, tally_}; }
  std::size_t some_lag(std::int64_t most);
  bool is_within_guard(const Tables& tables) const;
  /// Nothing is promised over what was drawn there before.
  void end_order(const Host* host = nullptr, bool for_good = false);
  void end_order_of_snowflakes(const Host& host);
  void raise_order(const Host& host, const std::string& tag, std::int64_t floor);
  /// Has an operator do `work(store)` on that host, again and again until it succeeds, and then `next`.
  void operate(Host& host, const char* what, std::function<void(Store&)> work,
               std::function<void()> next = {});
  void settle_and_raise(const Tables& before);

  const Plan& plan_;
  Random& random_;
  const Scenario& scenario_;
  Server& server_;
  Ledger& ledger_;
  Log& log_;
  Tally& tally_;
  std::vector<std::unique_ptr<Host>>& hosts_;
  std::vector<Fault> possible_{};
  Counts counts_{};
  std::int64_t left_;
  int restoring_ = 0;
  int operators_ = 0;  ///< at work
  bool have_ended_ = false;
  Time repoints_at_ = 0;
  struct Straggler {
    Process* process;
    std::uint64_t until_calls;
  };
  std::vector<Straggler> stragglers_{};
  std::map<std::int64_t, std::int64_t> timelines_{};  ///< the last of each system that was the store's
  std::int64_t newest_tables_ = 1;

  struct SavedFile {
    std::shared_ptr<Inode> inode;
    std::vector<std::byte> content;
  };
  std::vector<SavedFile> saved_{};
};

}  // namespace leaf::simulation
