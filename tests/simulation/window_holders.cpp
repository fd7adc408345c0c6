// Programs that share a host's windows, while who fetches one is stopped, and goes on later: others fetch
// instead, or wait, and have IDs in time.

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "leaf/snowflake.hpp"
#include "simulation/threads.hpp"
#include "simulation/watched_program.hpp"

namespace leaf::simulation {

namespace {

class WindowHolder final : WatchedProgram {
 public:
  WindowHolder(const Place& place, Process& process) : WatchedProgram(place, process) {
    is_shared_ = true;
    afterwards_ = until_given_up;
  }

  void run() {
    options_.timeout = timeout;
    options_.worker.owner = owner_of(place_.host);
    options_.worker.window = scenario().window;
    options_.max_backward = scenario().max_backward;
    if (scenario().is_pinned) options_.worker.worker = 1;
    options_.host = host_options(/*fetch_ahead=*/random().one_in(2));
    std::optional<SnowflakeGenerator> generator;
    if (!judged([&] { generator.emplace(store_options(), options_); })) return;
    for (std::int64_t calls = random().spread(4, 60); calls > 0 && !is_over(); --calls) {
      const Ledger::Call begun = Ledger::begin(&place_.tally.orders[{place_.host.number, of()}]);
      std::int64_t id = 0;
      if (judged([&] { id = generator->next(); })) {
        place_.log.note("snowflake", process_.number, id, id + 1);
        place_.ledger.drawn(begun, Ledger::snowflakes, {id, id + 1}, place_.host.number, 0);
      }
      sleep(random().spread(millisecond, 4 * second));
    }
  }

 private:
  static constexpr milliseconds timeout{5000};

  std::string of() const { return owner_of(place_.host) + (scenario().is_pinned ? " pinned" : ""); }

  /// Does `work()`, one call. It waits for one who has stopped as long as it has to, to take the file, or
  /// where the worker is asked for by its number, until all go on.
  template <typename Work>
  bool judged(Work work) {
    const Time begun = now(), kept_waiting = process_.kept_waiting;
    const int times_stopped = process_.times_stopped;
    const bool is_made = call({}, timeout, work, /*is_patient=*/false, 1);
    if (is_over() || process_.times_stopped != times_stopped) return is_made;
    const Time waited = now() - begun - (process_.kept_waiting - kept_waiting);
    const Time most = std::max(begun, served_from(begun)) - begun + 2 * prompt();
    const Time given = Time{timeout.count()} * millisecond;
    if (waited > most || (!is_made && given > most))
      fail(fmt::format("waited for {} ms, where {} are the most: {}", waited / millisecond,
                       most / millisecond, is_made ? "an ID came" : place_.tally.last_error));
    return is_made;
  }
  Time served_from(Time begun) const {
    constexpr Time until_asked_again = longest_pause + claim_lasts;
    const Server& server = Server::the();
    if (server.disturbances() == 0) return 0;
    const Time all_go_on = place_.tally.all_go_on_at;
    if (scenario().is_pinned) return all_go_on + until_asked_again;
    // Whoever takes the file has waited for it, and others for that one.
    const Time waits = Time{timeout.count()} * millisecond * 2 / 5;
    return std::min(all_go_on, std::max(server.disturbed_at(), begun) + waits);
  }

  SnowflakeOptions options_;
};

}  // namespace

void Scenario::keep_to_holders(Random& random) {
  constexpr std::array windows{1'000, 1'000, 2'000, 4'000, 10'000, 600'000};
  faults &= only({Fault::stop});
  hosts = tags = 1;
  slots = static_cast<int>(random.between(2, 3));
  takes_time = false;
  network = {};
  is_brisk = true;
  calls = random.between(20, 80);
  longest = random.between(20 * second, 2 * minute);
  slowness = random.spread(millisecond, 100 * millisecond);
  layout = Layout::parse("leaf");
  window = milliseconds(windows[static_cast<std::size_t>(random.below(windows.size()))]);
  recycle_after = std::chrono::hours(1);
  is_pinned = random.one_in(2);
  switches_per_fault = random.spread(4, 100);
  most_faults = random.between(1, 12);
  kinds = {ActorKind::window_holders};
}

void run_window_holder(const Place& place, Process& process) {
  WindowHolder(place, process).run();
}

}  // namespace leaf::simulation
