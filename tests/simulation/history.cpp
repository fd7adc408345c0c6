#include "simulation/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/shared_state.hpp"
#include "range/range_source.hpp"
#include "simulation/actors.hpp"
#include "simulation/arena.hpp"
#include "simulation/faults.hpp"
#include "simulation/host_records.hpp"
#include "simulation/point.hpp"
#include "simulation/threads.hpp"

namespace leaf::simulation {

namespace {

/// Any will do; layouts begin before it.
constexpr Time begin = Time{1'800'000'000} * second;
/// One after the other starts in a slot, and lives until it has done what it wanted, or dies.
struct Slot {
  Host* host;
  Process* process = nullptr;
  Time starts_at = 0;
};

class History {
 public:
  History(const Plan& plan, std::FILE* text, Steps* steps)
      : plan_(plan),
        random_(plan.seed),
        log_(text),
        scheduler_(random_, begin),
        scenario_(random_, plan),
        ledger_(scenario_.layout, scenario_.other_layout),
        server_(random_, ledger_, log_),
        faults_(plan_, random_, scenario_, server_, ledger_, log_, tally_, hosts_) {
    if (plan_.branch) scheduler_.branch_off(*plan_.branch);
    if (steps != nullptr) scheduler_.record(*steps);
    for (int number = 1; number <= scenario_.hosts; ++number) {
      hosts_.push_back(std::make_unique<Host>());
      hosts_.back()->number = number;
      if (scenario_.has_stragglers()) hosts_.back()->tick = 10 * millisecond;
      // What two copies granted lies in two buffers.
      if (scenario_.subject == Subject::copies) tally_.unordered.insert(number);
    }
    for (int store = scenario_.has_another_store ? 1 : 0; store >= 0; --store) {
      if (server_.store() != store) server_.repoint(/*breaks_connections=*/true);
      set_up_store(store);
    }
    for (int i = 0; i < scenario_.slots; ++i) slots_.push_back({.host = &some_host()});
    server_.longest_segment = scenario_.max_step;
    if (scenario_.is_about_damages())
      ledger_.may_repeat = [this](int tag, std::int64_t id) { return tally_.damages.may_repeat(tag, id); };
    ledger_.clock_of = [this](int host) { return hosts_[static_cast<std::size_t>(host - 1)]->clock(); };
    scheduler_.set_longest_run(scenario_.longest_run);
    scheduler_.on_wild_access = [this](const Process& process) {
      ledger_.fail(fmt::format("process {} crashes: it looks into a file that it has not mapped any more",
                               process.number));
    };
    if (scenario_.is_watched()) scheduler_.wake_for_nothing();
    if (scenario_.has_another_store) kernel_.on_locked = note_locked_answer;
    kernel_.on_removed = [this](const Inode& file, std::string_view name) {
      require_waited(file, name);
      // A copy can be put there just before the name is taken.
      if (!scenario_.has_another_store || times(Fault::relic) > 0) return;
      if (auto what = note_replaced_answer(file)) ledger_.fail(std::move(*what));
    };
    if (scenario_.are_files_old) kernel_.on_made = [this](const Inode& file) { grow_old(file, random_); };
    if (scenario_.is_brisk || scenario_.subject == Subject::setbacks)
      scheduler_.set_longest_stall(millisecond);
    server_.slowness = scenario_.slowness;
    scheduler_.on_escape = [this](const Process& process, const std::string& what) {
      ledger_.fail(fmt::format("an exception left a thread of process {}: {}", process.number, what));
    };
  }

  Outcome run() {
    scheduler_.between = [this] {
      require_records();
      if (ledger_.broken()) return;
      if (calls_left() > 0 && !faults_.is_restoring()) start_processes();
      faults_.happen();
    };
    scheduler_.run([this] { return ledger_.broken() || (calls_left() <= 0 && all_ended()) || is_late(); });
    if (!ledger_.broken()) require_progress();
    if (!ledger_.broken()) require_thrift();
    if (!ledger_.broken()) require_nothing_lost();
    return outcome();
  }

 private:
  Host& some_host() { return *hosts_[static_cast<std::size_t>(random_.below(std::ssize(hosts_)))]; }
  std::int64_t calls_left() const { return scenario_.calls - static_cast<std::int64_t>(tally_.calls); }
  bool is_late() const { return scheduler_.now() - begin > scenario_.longest; }

  /// Two stores have no ID in common, and nothing else than that.
  void set_up_store(int store) {
    const std::int64_t start = store == 0 ? 1 : first_of_another_store;
    server_.model.here.system += 10 * store;
    Tables& tables = server_.model.tables;
    tables.meta.deployment = Uuid::random(random_);
    tables.meta.granted_by = server_.model.here;
    tables.meta.worker_table = server_.model.here.tables;
    tables.meta.layout = scenario_.layout_of(store).text();
    tables.meta.guard_steps = scenario_.guard_steps;
    tables.meta.tags = scenario_.tags;
    if (scenario_.has_another_store) {
      const std::int64_t half = (scenario_.layout_of(store).max_worker() + 1) / 2;
      tables.meta.first_worker = tables.meta.next_worker = store * half;
      if (store == 0) tables.meta.last_worker = half - 1;
    }
    server_.tag_names.clear();
    for (int tag = 0; tag < scenario_.tags; ++tag) {
      server_.tag_names.push_back(scenario_.is_owner_a_tag ? owner_of(*hosts_.front())
                                                           : fmt::format("tag{}", tag));
      const std::int64_t step = scenario_.step ? *scenario_.step : random_.spread(1, 40);
      tables.tags.push_back({.name = server_.tag_names.back(),
                             .max_id = start,
                             .step = step,
                             .start = start,
                             .incarnation = Uuid::random(random_),
                             .granted_by = server_.model.here});
    }
    server_.forget_commits();
    server_.network = scenario_.may(Fault::network) ? scenario_.network : NetworkFaults();
  }

  Place place_of(Host& host) {
    return {.host = host, .scenario = scenario_, .ledger = ledger_, .log = log_, .tally = tally_};
  }

  std::int64_t times(Fault fault) const {
    return static_cast<std::int64_t>(faults_.counts()[static_cast<std::size_t>(fault)]);
  }

  void start_processes() {
    for (Slot& slot : slots_) {
      if (slot.process != nullptr) {
        if (!slot.process->is_dead && slot.process->threads > 0) continue;
        end(*slot.process);
        slot.process = nullptr;
        slot.starts_at =
            scheduler_.now() + (scenario_.takes_time ? random_.between(second, 90 * second)
                                                     : random_.spread(microsecond, 200 * millisecond));
        // Also where nobody is left meanwhile.
        if (scenario_.is_small()) scheduler_.at(slot.starts_at, [] {});
      }
      if (slot.starts_at > scheduler_.now()) continue;
      slot.process = &launch(place_of(*slot.host), some_kind());
    }
  }
  ActorKind some_kind() {
    return scenario_.kinds[static_cast<std::size_t>(random_.below(std::ssize(scenario_.kinds)))];
  }
  /// The kernel closes what a process has open.
  static void end(Process& process) {
    if (!process.is_dead) kill(process);
  }

  bool all_ended() {
    return !faults_.is_restoring() && std::ranges::none_of(hosts_, [&](const auto& host) {
      return std::ranges::any_of(host->processes,
                                 [](const Process* process) { return process->threads > 0; });
    });
  }

  /// At any moment a process may die, and another one goes on with what the host has written down.
  void require_records() {
    if (!std::exchange(has_written, false)) return;
    if (times(Fault::damage) > 0) return;
    const Process* const ran = scheduler_.last();
    if (ran == nullptr) return;
    if (scenario_.is_watched()) note_published(*ran->host, ledger_);
    if (scenario_.has_another_store && times(Fault::relic) == 0)  // a copy does not count
      if (auto what = note_answers(*ran->host, scheduler_.last_fiber())) ledger_.fail(std::move(*what));
    if (scenario_.subject == Subject::moves && !scenario_.has_places())
      if (auto what = note_belief(*ran->host)) ledger_.fail(std::move(*what));
    if (auto what = unrecorded(*ran->host, positions_)) ledger_.fail(std::move(*what));
  }

  /// Whoever takes a file from somebody has waited for that one.
  void require_waited(const Inode& file, std::string_view name) {
    const Process& by = scheduler_.process();
    const auto timeout = tally_.timeouts.find(by.number);
    if (!(name.starts_with("tag-") || name.starts_with("worker-")) || timeout == tally_.timeouts.end())
      return;
    if (file.lock != nullptr && file.lock->process == &by) return;    // who holds it may throw it away
    if (!scenario_.is_watched() && name.ends_with(".taken")) return;  // another one has waited
    if (times(Fault::relic) > 0) return;  // a copy can be put there just before the name is taken
    const Time least = timeout->second * 2 / 5 - millisecond, age = scheduler_.now() - file.born;
    if (age < least)
      ledger_.fail(fmt::format("process {} takes a file that was made {} ms ago, where {} are the least",
                               by.number, age / millisecond, least / millisecond));
    if (scenario_.subject == Subject::demands) require_waited_for_the_rest(file);
  }
  /// leafctl(1), HOST BUFFER: while IDs are left, until a second after the timeout of who fetches, or for a
  /// minute.
  void require_waited_for_the_rest(const Inode& file) {
    const auto& state = *reinterpret_cast<const host::SharedState*>(file.memory);
    // Who takes it has closed it before.
    const std::int64_t left =
        file.size < sizeof state ? 0 : state.buffer.published_end() - state.end_of_taken.load();
    if (left <= 0 || file.lock == nullptr) return;
    const auto timeout = tally_.timeouts.find(file.lock->process->number);
    if (timeout == tally_.timeouts.end()) return;
    const Time least = std::min(timeout->second + second, minute) - millisecond;
    const Time held = scheduler_.now() - file.locked_at;
    if (held < least)
      ledger_.fail(fmt::format("{} IDs are left behind after {} ms, where {} are the least", left,
                               held / millisecond, least / millisecond));
  }

  /// Once nothing is broken any more, whoever draws gets IDs.
  void require_progress() {
    scheduler_.between = nullptr;
    tally_.is_over = true;
    faults_.end();
    scheduler_.calm_down();
    tally_.patience_ends = scheduler_.now() + scenario_.patience();
    scheduler_.run([&] { return ledger_.broken() || all_ended() || is_out_of_patience(); });
    if (ledger_.broken()) return;
    for (const auto& host : hosts_) {
      for (Process* const process : std::vector(host->processes)) end(*process);
    }
    tally_.patience_ends = scheduler_.now() + scenario_.patience();
    for (const auto& host : hosts_) start_probes(place_of(*host), tally_.patience_ends);
    scheduler_.run([&] { return ledger_.broken() || all_ended() || is_out_of_patience(); });
    if (!ledger_.broken() && tally_.good_probes != tally_.probes)
      ledger_.fail(fmt::format("{} of {} who ask for IDs get none although nothing is broken any more: {}",
                               tally_.probes - tally_.good_probes, tally_.probes, tally_.last_error));
  }
  bool is_out_of_patience() const { return scheduler_.now() > tally_.patience_ends; }

  /// Where all draw single IDs and no reply is lost, nothing is granted in vain but what the buffer has left,
  /// a segment in the hands of each process that was killed or stopped, and what lay in a buffer, or was
  /// about to, that others gave up since its fetcher stood still.
  void require_thrift() {
    if (plan_.model != Model::segment || (plan_.may(Fault::network) && scenario_.network != NetworkFaults()))
      return;
    const std::int64_t may_be_left = 2 + times(Fault::kill) + times(Fault::stop) + 3 * kernel_.removed_files;
    const std::int64_t left = ledger_.untouched_ranges(0);
    if (left > may_be_left)
      ledger_.fail(fmt::format("{} segments were granted in vain, where {} may be", left, may_be_left));
  }

  static bool keeps_nobody_waiting(Fault fault) {
    // Who dies may leave a file that is half written, which is thrown away.
    return fault == Fault::change || fault == Fault::shortage || fault == Fault::clock;
  }
  void require_nothing_lost() {
    if (!scenario_.is_watched()) return;
    // Who holds a lock for a moment is not taken for one that has stopped.
    const auto& all_times = faults_.counts();
    bool is_calm = true;
    for (std::size_t i = 0; i < all_times.size(); ++i)
      is_calm = is_calm && (all_times[i] == 0 || keeps_nobody_waiting(static_cast<Fault>(i)));
    const bool is_quick = scenario_.is_brisk && are_patient(place_of(*hosts_.front()));
    const bool is_of_tags = scenario_.kinds.front() == ActorKind::host_segment_threads;
    if (is_of_tags && is_quick && is_calm && kernel_.removed_files > 0)
      ledger_.fail("a file was taken from somebody who had not stopped");
    for (const auto& host : hosts_) {
      if (std::string lost = lost_of_host(place_of(*host)); !lost.empty()) ledger_.fail(std::move(lost));
    }
  }

  Outcome outcome() {
    log_.note("end", 0, static_cast<std::int64_t>(ledger_.ids()), static_cast<std::int64_t>(tally_.calls));
    Outcome result{.hash = log_.hash(),
                   .ids = ledger_.ids(),
                   .repeats = ledger_.repeats(),
                   .calls = tally_.calls,
                   .failed_calls = tally_.failed_calls,
                   .processes = tally_.processes,
                   .faults = faults_.counts()};
    if (ledger_.broken()) {
      log_.say("BROKEN", 0, *ledger_.broken());
      ledger_.broken()->copy(result.broken.data(), result.broken.size() - 1);
    }
    return result;
  }

  const Plan plan_;
  Random random_;
  Log log_;
  Scheduler scheduler_;
  Kernel kernel_{log_};
  Scenario scenario_;
  const layout::Positions positions_{scenario_.layout};
  Ledger ledger_;
  Server server_;
  std::vector<std::unique_ptr<Host>> hosts_{};
  Tally tally_{};
  Faults faults_;
  std::vector<Slot> slots_{};
};

}  // namespace

Outcome run_history(const Plan& plan, std::FILE* text, Steps* steps) {
  // What the library makes once and keeps is none of a history's memory: so it has to be there before.
  [[maybe_unused]] static const bool is_warm = [] {
    for (std::uint64_t seed = 1; seed <= 16; ++seed) History(Plan{.seed = seed}, nullptr, nullptr).run();
    return true;
  }();
  if (steps != nullptr) steps->clear();
  const Arena arena;
  return History(plan, text, steps).run();
}

std::string Plan::text() const {
  std::string options = fmt::format("--seed {}", seed);
  if (model != Model::none)
    options += fmt::format(" --modelled {}", model_names[static_cast<std::size_t>(model)]);
  if (subject) options += fmt::format(" --about {}", subject_names[static_cast<std::size_t>(*subject)]);
  if (!subject && model == Model::none && control == Control::none)
    options += fmt::format(" --about {}", chance);
  const Plan usual;
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    if (!may(static_cast<Fault>(i))) options += fmt::format(" --without {}", fault_names[i]);
  }
  if (most_hosts != usual.most_hosts) options += fmt::format(" --hosts {}", most_hosts);
  if (most_slots != usual.most_slots) options += fmt::format(" --programs {}", most_slots);
  if (most_calls != usual.most_calls) options += fmt::format(" --calls {}", most_calls);
  if (branch) options += fmt::format(" --branch {}:{}", branch->step, branch->seed);
  if (control != Control::none)
    options += fmt::format(" --control {}", control_names[static_cast<std::size_t>(control)]);
  return options;
}

}  // namespace leaf::simulation
