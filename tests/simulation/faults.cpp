#include "simulation/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include "host/hash.hpp"
#include "host/shared_state.hpp"
#include "leaf/host.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"

namespace leaf::simulation {

namespace {

using std::chrono::milliseconds;

/// How far the server's clock is set at most: hosts lease nothing where theirs is further away.
constexpr Time store_clock_error = 3 * second;

/// All simulated boots have one name, since the library asks for it but once.
void rename_boot(std::vector<std::byte>& file) {
  host::FileHeader header;
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  header.boot[0] = 'e';
  header.checksum = host::Hash()
                        .add({reinterpret_cast<const char*>(&header), offsetof(host::FileHeader, checksum)})
                        .value();
  std::memcpy(file.data(), &header, sizeof header);
}

TagChange unlimited() {
  TagChange change;
  change.remove_limit = true;
  return change;
}
TagChange raised_to(std::int64_t next_id) {
  TagChange change = unlimited();
  change.raise_to = next_id;
  return change;
}

}  // namespace

Faults::Faults(const Plan& plan, Random& random, const Scenario& scenario, Server& server, Ledger& ledger,
               Log& log, Tally& tally, std::vector<std::unique_ptr<Host>>& hosts)
    : plan_(plan),
      random_(random),
      scenario_(scenario),
      server_(server),
      ledger_(ledger),
      log_(log),
      tally_(tally),
      hosts_(hosts),
      left_(scenario.most_faults) {
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    const auto fault = static_cast<Fault>(i);
    // Those that may, though not all in each history.
    if (fault != Fault::network && fault != Fault::repoint && scenario.may(fault) && random.one_in(2))
      possible_.push_back(fault);
  }
  if (scenario.is_about_damages() && scenario.may(Fault::damage))
    possible_.insert(possible_.end(), 3, Fault::damage);
  if (scenario.subject == Subject::setbacks && scenario.may(Fault::restore))
    possible_.insert(possible_.end(), 2, Fault::restore);
  if (scenario.subject == Subject::away && scenario.may(Fault::outage)) possible_ = {Fault::outage};
  if (scenario.subject == Subject::clocks || scenario.subject == Subject::outages)
    possible_.clear();  // by their programs
  if ((scenario.subject == Subject::holders || scenario.subject == Subject::demands) &&
      scenario.may(Fault::stop))
    possible_ = {Fault::stop};
  if (scenario.subject == Subject::demands && scenario.may(Fault::silence)) possible_ = {Fault::silence};
  if (scenario.subject == Subject::takings && scenario.may(Fault::stop))
    possible_.insert(possible_.end(), 2, Fault::stop);
  if (scenario.has_stragglers())
    Scheduler::the().set_stragglers(scenario.moments_per_straggler, scenario.stragglers,
                                    [this](Process& process) { return stop_straggler(process); });
  if (scenario.turns_each_time && scenario.has_another_store) server.on_delivered = [this] { turn(); };
  if (scenario.has_places())
    Scheduler::the().set_places(scenario.one_place_of, [this](Process& process) { return hold_up(process); });
}

void Faults::happen() {
  if (!stragglers_.empty()) wake_stragglers();
  if (scenario_.has_another_store && !scenario_.turns_each_time && Scheduler::the().now() >= repoints_at_)
    perhaps_repoint();
  if (tally_.marked.are_to_be_lost && !tally_.marked.is_in_use()) lose_marks();
  if (is_restoring() || left_ <= 0 || !random_.one_in(scenario_.switches_per_fault)) return;
  --left_;
  if (plan_.control != Control::none && random_.one_in(4) && break_promise()) return;
  if (possible_.empty()) return;
  const Fault fault = possible_[static_cast<std::size_t>(random_.below(std::ssize(possible_)))];
  if (make_happen(fault)) ++counts_[static_cast<std::size_t>(fault)];
}

void Faults::end() {
  have_ended_ = true;
  stragglers_.clear();
  log_.note("all faults end");
  server_.network = {};
  server_.clock_offset = 0;
  server_.go_down(0);
  server_.slowness = 0;
  for (const auto& host : hosts_) {
    host->clock_offset = host->stands_at = 0;
    note_clock_set(*host);
    for (Process* const process : host->processes) process->stopped_until = 0;
  }
}

bool Faults::make_happen(Fault fault) {
  switch (fault) {
    case Fault::kill:
      return kill_one();
    case Fault::stop:
      return stop_one();
    case Fault::reboot:
      reboot_one(some_host());
      return true;
    case Fault::clock:
      return set_clock();
    case Fault::store_clock:
      server_.clock_offset = random_.between(-store_clock_error, store_clock_error);
      server_.furthest_ahead = std::max(server_.furthest_ahead, server_.clock_offset);
      log_.note("clock of the server", 0, server_.clock_offset);
      return true;
    case Fault::network:
      return false;
    case Fault::outage: {
      const bool is_of_threads = scenario_.is_watched();
      const Time most = is_of_threads && random_.one_in(8) ? 100 * second : 20 * second;
      const bool is_long = scenario_.subject == Subject::solos && random_.one_in(6);
      const Time duration =
          is_long ? random_.between(50 * second, 100 * second) : random_.spread(millisecond, most);
      server_.is_unreachable = is_of_threads && random_.one_in(2);
      log_.note("outage", 0, duration);
      server_.go_down(duration);
      return true;
    }
    case Fault::remove_folder: {
      if (scenario_.subject == Subject::marks) {
        tally_.marked.are_to_be_lost = true;
        return true;
      }
      Host& host = some_host();
      log_.note("remove folder", 0, host.number);
      remove_folders(host);
      if (scenario_.is_watched()) server_.note_disturbance();
      const Time now = Scheduler::the().now();
      tally_.folder_removed_at[host.number] = now;
      for (const Process* const process : host.processes)
        tally_.waited_at_removal[process] = Scheduler::the().kept_waiting(*process);
      end_order(&host);
      for (auto& [of, order] : tally_.orders) {
        if (of.first == host.number) order.granted_after = now;
      }
      return true;
    }
    case Fault::failover:
      return fail_over();
    case Fault::restore:
      return scenario_.subject == Subject::setbacks ? set_back() : restore();
    case Fault::recycle:
      return recycle();
    case Fault::change:
      return scenario_.is_about_damages() ? forget() : change();
    case Fault::repoint:
      return false;
    case Fault::relic:
      return leave_relics();
    case Fault::damage:
      return scenario_.is_about_damages() ? damage_in_use() : damage();
    case Fault::silence: {
      // Longer than one attempt, so that it fails, and shorter than two.
      if (scenario_.subject == Subject::demands) return be_silent_for_long();
      const Time duration =
          random_.one_in(3) ? random_.between(4 * second, 11 * second)
                            : random_.spread(10 * millisecond, random_.one_in(4) ? 100 * second : 8 * second);
      log_.note("silence", 0, duration);
      server_.fall_silent(duration);
      return true;
    }
    case Fault::row_lock: {
      const Time duration = random_.spread(100 * millisecond, 20 * second);
      log_.note("row lock", 0, duration);
      server_.lock_row(server_.tag_names.front(), duration);
      return true;
    }
    case Fault::shortage: {
      Host& host = some_host();
      const Time duration = random_.spread(millisecond, 4 * second);
      log_.note("shortage of threads", 0, host.number, duration);
      host.no_threads_until = Scheduler::the().now() + duration;
      return true;
    }
    case Fault::still_clock:
      return stop_clock();
  }
  return false;
}

/// Not for so long that what is left may be lost.
bool Faults::be_silent_for_long() {
  constexpr Time longest = 55 * second, until_all_is_well = 30 * second;
  if (Scheduler::the().now() < server_.silent_until() + until_all_is_well) return false;
  const Time duration = random_.between(10 * second, longest);
  log_.note("silence", 0, duration);
  server_.fall_silent(duration);
  return true;
}

Host& Faults::some_host() {
  return *hosts_[static_cast<std::size_t>(random_.below(std::ssize(hosts_)))];
}

Process* Faults::some_process() {
  Host& host = some_host();
  if (host.processes.empty()) return nullptr;
  Process* const process =
      host.processes[static_cast<std::size_t>(random_.below(std::ssize(host.processes)))];
  return process->threads > 0 ? process : nullptr;
}

Process* Faults::some_fetcher() {
  std::vector<Process*> fetchers;
  for (const auto& [path, folder] : some_host().folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->lock != nullptr) fetchers.push_back(file->lock->process);
    }
  }
  return fetchers.empty() ? nullptr : fetchers[static_cast<std::size_t>(random_.below(std::ssize(fetchers)))];
}

Process* Faults::some_victim() {
  const bool is_fetcher = scenario_.subject == Subject::fetches || scenario_.subject == Subject::holders ||
                          scenario_.subject == Subject::demands ||
                          ((scenario_.is_about_damages() || scenario_.is_watched()) && random_.one_in(2)) ||
                          (scenario_.subject == Subject::takings && !random_.one_in(4));
  return is_fetcher ? some_fetcher() : some_process();
}

void Faults::end_order(const Host* host, bool for_good) {
  for (auto& [of, order] : tally_.orders) {
    if (host == nullptr || of.first == host->number) order = {.life = order.life + 1};
  }
  if (for_good) tally_.unordered.insert(host->number);
}

/// The buffer knew of it, and is gone: from now on they follow the clock.
void Faults::end_order_of_snowflakes(const Host& host) {
  for (auto& [of, order] : tally_.orders) {
    if (of.first == host.number && of.second.starts_with(owner_of(host))) order = {.life = order.life + 1};
  }
}

/// What was buffered below a floor is given up where the tag is raised. A failover may lose that. And where
/// the tag stood there already, whoever is held up with a grant in hand while it removes a file buffers it in
/// the next one, which is not there yet: see drop_host_buffer().
void Faults::raise_order(const Host& host, const std::string& tag, std::int64_t floor) {
  if (scenario_.may(Fault::failover) || scenario_.may(Fault::restore)) return;
  const auto number = std::ranges::find(server_.tag_names, tag) - server_.tag_names.begin();
  if ((scenario_.subject == Subject::takings || scenario_.subject == Subject::handovers ||
       scenario_.subject == Subject::latecomers) &&
      ledger_.has_grant_up_to(static_cast<int>(number), floor))
    return;
  const std::int64_t copy = server_.copy_number();
  Ledger::Reached& reached =
      tally_.orders[{host.number, tag}].of_stores[static_cast<std::size_t>(server_.store())];
  if (reached.copy == copy || reached.highest < 0)
    reached = {.highest = std::max(reached.highest, floor - 1), .copy = copy};
}

bool Faults::kill_one() {
  Process* const process = some_victim();
  if (process == nullptr) return false;
  log_.note("kill", process->number);
  server_.note_disturbance();
  kill(*process);
  return true;
}

bool Faults::stop_one() {
  Process* const process = some_victim();
  if (process == nullptr) return false;
  if (scenario_.subject == Subject::takings) {
    stop_for_calls(*process);
    return true;
  }
  const Time duration = scenario_.subject == Subject::demands ? random_.between(10 * second, 3 * minute)
                        : scenario_.is_watched() && random_.one_in(3)
                            ? random_.between(4 * second, 40 * second)
                            : random_.spread(millisecond, random_.one_in(8) ? 10 * minute : 10 * second);
  stop(*process, duration);
  return true;
}

void Faults::stop(Process& process, Time duration) {
  log_.note("stop", process.number, duration);
  server_.note_disturbance();
  process.stopped_until = Scheduler::the().now() + duration;
  tally_.all_go_on_at = std::max(tally_.all_go_on_at, process.stopped_until);
  ++process.times_stopped;
}

void Faults::reboot_one(Host& host) {
  log_.note("reboot", 0, host.number);
  server_.note_disturbance();
  reboot(host);
  end_order_of_snowflakes(host);
}

/// Where the folder lies on a disk its files outlive a reboot, without what was not written back yet. And
/// somebody may copy a folder, and later put the copy in its place.
bool Faults::leave_relics() {
  Host& host = some_host();
  std::vector<KeptFile> files = keep_files(host);
  if (files.empty()) return false;
  Scheduler& scheduler = Scheduler::the();
  scheduler.at(scheduler.now() + random_.spread(millisecond, 20 * second),
               [this, &host, files = std::move(files)]() mutable { find_relics(host, files); });
  return true;
}

void Faults::find_relics(Host& host, std::vector<KeptFile>& files) {
  if (have_ended_ || is_restoring()) return;
  const bool is_reboot = random_.one_in(2);
  if (is_reboot) {
    reboot_one(host);
  } else {
    log_.note("copies are put back", 0, host.number);
    tally_.is_doubtful = true;
    // Who has the old files mapped notices it as where the folder is removed.
    end_order(&host, /*for_good=*/true);
  }
  for (KeptFile& file : files) {
    if (is_reboot) rename_boot(file.content);
    put_back(host, file, is_reboot ? KeptAs::itself : KeptAs::copy);
  }
}

/// Whoever had the file mapped could draw from it for a while, so nobody has. The position up to which IDs
/// were drawn has no checksum.
bool Faults::damage() {
  constexpr std::size_t position = offsetof(host::SharedState, buffer), position_end = position + 16;
  Host& host = some_host();
  std::vector<std::shared_ptr<Inode>> buffers;
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->size >= sizeof(host::SharedState) &&
          (name.starts_with("tag-") || name.starts_with("worker-")))
        buffers.push_back(file);
    }
  }
  if (buffers.empty()) return false;
  const auto& damaged = buffers[static_cast<std::size_t>(random_.below(std::ssize(buffers)))];
  const std::array<std::pair<std::size_t, std::size_t>, 4> parts{
      {{0, sizeof(host::FileHeader)},
       {position, sizeof(range::DoubleBuffer)},
       {offsetof(host::SharedState, tag), sizeof(host::TagRecord)},
       {0, sizeof(host::SharedState)}}};
  const auto& [part, size] = parts[static_cast<std::size_t>(random_.below(std::ssize(parts)))];
  const std::size_t place = part + static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(size)));
  if (place >= position && place < position_end) return false;
  for (Process* const process : std::vector(host.processes)) kill(*process);
  damaged->memory[place] ^= static_cast<std::byte>(1 << random_.below(8));
  log_.note("damage", 0, host.number, static_cast<std::int64_t>(place));
  tally_.is_doubtful = true;
  server_.note_disturbance();
  end_order_of_snowflakes(host);
  return true;
}

/// Files of marks are removed, or cut. Not under a program that is about to look at one: it would die of
/// that, or write what is lost.
void Faults::lose_marks() {
  tally_.marked.are_to_be_lost = false;
  Host& host = some_host();
  const bool is_cut = random_.one_in(2);
  log_.note("marks are lost", 0, host.number, is_cut ? 1 : 0);
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->size == 0 || (is_cut && random_.one_in(2))) continue;
      tally_.marked.note_loss(host, file, is_cut);
      if (is_cut) cut(*file);
    }
  }
  if (!is_cut) remove_folders(host);
}

bool Faults::damage_in_use() {
  Host& host = some_host();
  tally_.is_doubtful = true;
  if (scenario_.subject == Subject::rewinds) {
    // Also where nobody draws at that moment.
    Scheduler& scheduler = Scheduler::the();
    scheduler.at(scheduler.now() + random_.spread(millisecond, 20 * second), [this, &host] {
      if (!have_ended_ && tally_.damages.rewind_one(host, random_, log_)) end_order(&host);
    });
    return true;
  }
  if (random_.one_in(4)) {
    for (Process* const process : std::vector(host.processes)) kill(*process);
  }
  const auto damaged = tally_.damages.damage_one(host, random_, log_);
  if (damaged == Damages::Part::cursor) end_order(&host);
  return damaged.has_value();
}

/// As `leafctl status --forget` does.
bool Faults::forget() {
  Host& host = some_host();
  operate(host, "forget", [this, &host](Store&) {
    const Time begun = Scheduler::the().now();
    HostClock clock;
    forget_failing_buffers(host_options(false), milliseconds(5000), clock);
    if (auto what = tally_.damages.not_forgotten(host, begun)) ledger_.fail(std::move(*what));
  });
  return true;
}

/// Mostly by little, as a time server does; sometimes by hours, as a mistake.
void Faults::note_clock_set(Host& host) {
  ++host.clock_sets;
  host.clock_set_at = Scheduler::the().now();
  if (host.releases > 0) tally_.unordered.insert(host.number);
}

/// As where a virtual machine is moved. Afterwards it is behind.
bool Faults::stop_clock() {
  Host& host = some_host();
  if (host.stands_at != 0) return false;
  const ActorKind kind = scenario_.kinds.front();
  const bool is_of_windows = kind == ActorKind::own_window_threads || kind == ActorKind::host_window_threads;
  const Time duration = scenario_.subject == Subject::units  ? random_.between(second, 30 * second)
                        : is_of_windows && random_.one_in(2) ? random_.between(2 * second, 8 * second)
                                                             : random_.spread(millisecond, 2 * second);
  log_.note("clock stands still", 0, host.number, duration);
  host.stands_at = host.clock();
  host.has_stood_still = true;
  server_.note_disturbance();
  Scheduler& scheduler = Scheduler::the();
  scheduler.at(scheduler.now() + duration, [this, &host] {
    server_.note_disturbance();
    if (host.stands_at != 0) host.clock_offset = host.stands_at - Scheduler::the().now();
    host.stands_at = 0;
  });
  return true;
}

bool Faults::set_clock() {
  Host& host = some_host();
  const Time furthest = random_.one_in(4) ? 3 * 60 * minute : 8 * second;
  if (scenario_.is_watched()) {
    // By less than max_backward, where that counts; or far ahead, past all windows, and back.
    const bool is_of_tags = scenario_.kinds.front() == ActorKind::own_segment_threads ||
                            scenario_.kinds.front() == ActorKind::host_segment_threads;
    const Time most =
        is_of_tags ? 50 * second
                   : std::min<Time>(Time{scenario_.max_backward.count()} * millisecond * 9 / 20, 4 * second);
    const bool is_far = host.clock_offset > 60 * minute;
    host.clock_offset = is_far || scenario_.window > milliseconds(600'000) || !random_.one_in(3)
                            ? random_.between(-most, most)
                            : random_.between(90 * minute, 180 * minute);
  } else if (scenario_.subject == Subject::units && !scenario_.has_far_clocks) {
    const Time most = std::min<Time>(Time{scenario_.max_backward.count()} * millisecond * 9 / 20, 2 * second);
    host.clock_offset = random_.between(-most, most);
  } else if (scenario_.subject == Subject::fetches ||
             (scenario_.has_stragglers() && !scenario_.has_far_clocks)) {
    // Where it goes back by more than two seconds nobody draws for a while.
    host.clock_offset = random_.between(-second, second);
  } else {
    host.clock_offset = random_.one_in(3) ? 0 : random_.spread(0, furthest) * (random_.one_in(2) ? -1 : 1);
  }
  host.furthest_ahead = std::max(host.furthest_ahead, host.clock_offset);
  note_clock_set(host);
  server_.note_disturbance();
  log_.note("clock", 0, host.number, host.clock_offset);
  return true;
}

void Faults::operate(Host& host, const char* what, std::function<void(Store&)> work,
                     std::function<void()> next) {
  // Who drives the mending is no victim of it: not one of the host's processes that may be killed.
  Process& process = Scheduler::the().make_process(host);
  ++operators_;
  Scheduler::the().start(process, [this, what, work = std::move(work), next = std::move(next),
                                   number = process.number] {
    StoreOptions options = store_options();
    options.marks = host_marks(host_options(false));
    for (int attempt = 0; attempt < 20; ++attempt) {
      try {
        Store store(options);
        work(store);
        break;
      } catch (const Error& error) {
        log_.note("operator failed", number, static_cast<int>(error.code()));
        log_.say(what, number, error.what());
        if (error.code() == ErrorCode::usage && !tally_.is_doubtful && scenario_.subject == Subject::units)
          ledger_.fail(fmt::format("'{}' fails as if it were a mistake: {}", what, error.what()));
        if (!next && !error.retryable()) break;
      }
      Scheduler::the().sleep_until(Scheduler::the().now() + second);
    }
    --operators_;
    if (next) next();
  });
}

// Failovers and restores.

std::size_t Faults::some_lag(std::int64_t most) {
  return static_cast<std::size_t>(
      random_.spread(0, std::min<std::int64_t>(most, static_cast<std::int64_t>(server_.commits()))));
}

/// A standby may lack what the guard leaves out at least; more is the operator's to raise.
bool Faults::is_within_guard(const Tables& tables) const {
  ServerName next = server_.model.here;
  ++next.timeline;
  for (const TagRow& now : server_.model.tables.tags) {
    const auto then = std::ranges::find(tables.tags, now.name, &TagRow::name);
    if (then == tables.tags.end()) return false;
    const std::int64_t guard =
        tables.meta.guard_steps * std::max({then->step, then->last_grant, std::int64_t{1}});
    const std::int64_t share = std::max<std::int64_t>(8 * guard, 1'048'576);
    const std::int64_t servers = next.servers_since(then->granted_by);
    if (then->max_id + servers * guard + (servers - 1) * share < now.max_id) return false;
  }
  return true;
}

bool Faults::fail_over() {
  tally_.is_doubtful = true;
  std::size_t lag = random_.one_in(3) ? 0 : some_lag(40);
  while (lag > 0 && !is_within_guard(server_.before(lag))) lag /= 2;
  ServerName name = server_.model.here;
  ++name.timeline;
  log_.note("failover", 0, static_cast<std::int64_t>(lag), name.timeline);
  const Tables standby = server_.before(lag);
  const bool is_bounded =
      std::ranges::any_of(standby.tags, [](const TagRow& row) { return row.limit.has_value(); });
  server_.become(standby, name);
  server_.clock_offset = random_.between(-store_clock_error, store_clock_error);
  // The guard goes past a near limit, which an operator raises.
  if (plan_.model == Model::none && (is_bounded || random_.one_in(2))) {
    const Commits all_there =
        plan_.control == Control::word_of_all ? Commits::all_there_on_every_server : Commits::all_there;
    const Commits commits = lag == 0 ? all_there : Commits::may_be_lost;
    operate(some_host(), "settle", [commits, seen = name.text()](Store& store) {
      const Failover found = store.failover();
      if (found.server == seen) store.settle_failover(found, commits);
    });
  }
  return true;
}

/// As leafctl-operations(7) has it: nobody draws meanwhile, the guard is settled, and tags are raised to what
/// hosts know, and above what is found where IDs are used.
bool Faults::restore() {
  tally_.is_doubtful = true;
  for (const auto& host : hosts_) {
    for (Process* const process : std::vector(host->processes)) kill(*process);
  }
  const std::size_t age = some_lag(300);
  ServerName name = some_restored();
  log_.note("restore", 0, static_cast<std::int64_t>(age), name.tables);
  log_.note("into", 0, name.system, name.timeline);
  const Tables before = server_.model.tables;
  const Tables backup = server_.before(age);
  server_.become(backup, name);
  end_order();
  restoring_ = 1;
  if (!random_.one_in(3)) {
    settle_and_raise(before);
    return true;
  }
  // Somebody switches over in between, and says of that what is true.
  ++name.timeline;
  log_.note("failover", 0, 0, name.timeline);
  server_.become(Tables(backup), name);
  operate(
      some_host(), "settle",
      [](Store& store) { store.settle_failover(store.failover(), Commits::all_there); },
      [this, before] { settle_and_raise(before); });
  return true;
}

/// As a file that a backup of it overwrites, while somebody removes marks.
bool Faults::set_back() {
  const std::size_t age = some_lag(300);
  log_.note("store goes back", 0, static_cast<std::int64_t>(age));
  tally_.is_doubtful = true;
  server_.become(Tables(server_.before(age)), ServerName(server_.model.here));
  if (random_.one_in(4)) return true;
  for (const auto& [path, folder] : some_host().folders) {
    std::erase_if(folder->entries, [](const auto& entry) {
      if (!entry.first.starts_with("mark-")) return false;
      entry.second->links = 0;
      return true;
    });
  }
  return true;
}

/// The tables are others where a dump was restored, into this server or another one, which may have been the
/// store's before. A copy of the server's files begins a timeline.
ServerName Faults::some_restored() {
  ServerName name = server_.model.here;
  std::int64_t& newest = timelines_[name.system];
  newest = std::max(newest, name.timeline);
  if (random_.one_in(3)) {
    name.timeline = ++newest;
    return name;
  }
  if (random_.one_in(2)) {
    name.system = 10 * server_.store() + random_.between(1, 3);
    std::int64_t& timeline = timelines_[name.system];
    if (timeline == 0) {
      timeline = random_.between(1, 3);
      if (random_.one_in(2)) return {.system = name.system, .timeline = timeline, .tables = name.tables};
    }
    name.timeline = timeline;
  }
  name.tables = ++newest_tables_;
  return name;
}

void Faults::settle_and_raise(const Tables& before) {
  const auto raise_all = [this, before] {
    restoring_ += static_cast<int>(hosts_.size());
    for (const auto& host : hosts_) {
      operate(
          *host, "raise",
          [this, before](Store& store) {
            const std::vector<Tag> tags = store.tags();
            const auto end_of = [&](const std::string& name) {
              const auto number = std::ranges::find(server_.tag_names, name) - server_.tag_names.begin();
              return std::max(store.granted_mark(TagName(name)),
                              ledger_.end_of_drawn(static_cast<int>(number), server_.store()));
            };
            for (const Tag& tag : tags) {
              const std::int64_t end = end_of(tag.name);
              if (end > tag.next_id) store.update_tag(TagName(tag.name), raised_to(end));
            }
            for (const TagRow& known : before.tags) {
              if (std::ranges::find(tags, known.name, &Tag::name) != tags.end()) continue;
              NewTag lost{.name = TagName(known.name)};
              lost.start = std::max<std::int64_t>(end_of(known.name), 1);
              store.add_tag(lost);
            }
          },
          [this] { --restoring_; });
    }
    --restoring_;
  };
  operate(
      *hosts_.front(), "settle",
      [](Store& store) {
        for (const Tag& tag : store.tags()) {
          if (tag.limit) store.update_tag(TagName(tag.name), unlimited());
        }
        store.settle_failover(store.failover(), Commits::may_be_lost);
      },
      raise_all);
}

// What operators do.

bool Faults::recycle() {
  const auto& workers = server_.model.tables.workers;
  if (workers.empty()) return false;
  const std::int64_t worker = workers[static_cast<std::size_t>(random_.below(std::ssize(workers)))].id;
  log_.note("recycle", 0, worker);
  if ((scenario_.subject == Subject::windows || scenario_.subject == Subject::units) && random_.one_in(2)) {
    release(some_host());
  } else {
    operate(some_host(), "recycle", [worker](Store& store) { store.recycle_worker(worker, true); });
  }
  return true;
}

/// Where the clock is behind the last ID, the next ones go on from that, and stay as far ahead.
Time Faults::time_of_last_id(const Host& host) const {
  Time last = 0;
  const auto order = tally_.orders.find({host.number, owner_of(host)});
  if (order == tally_.orders.end()) return last;
  for (const Ledger::Reached& reached : order->second.of_stores) {
    if (reached.highest < 0) continue;
    const UnixTime time = scenario_.layout.time_of(reached.highest);
    last = std::max(last, Time{time.time_since_epoch().count()} * millisecond);
  }
  return last;
}

/// As `leafctl workers release` does, for an owner who starts over after a wrong clock.
void Faults::release(Host& host) {
  operate(host, "release", [this, &host](Store& store) {
    store.release_workers(owner_of(host));
    const milliseconds max_backward = scenario_.max_backward;
    ++host.releases;
    // Windows that lie ahead go, and what follows begins at the clock's time. A unit may begin ahead of that.
    const Time unit = Time{scenario_.longest_unit().count()} * millisecond;
    const Time ids_are_ahead = time_of_last_id(host) - host.clock();
    if (std::max(host.furthest_ahead - host.clock_offset, ids_are_ahead) + unit >
        Time{max_backward.count()} * millisecond)
      tally_.unordered.insert(host.number);
    HostClock clock;
    drop_host_windows_ahead(store.identity(), host_options(false), owner_of(host), {}, max_backward,
                            milliseconds(5000), clock);
    --host.releases;
  });
}

bool Faults::change() {
  const auto& tags = server_.model.tables.tags;
  const TagRow& row = tags[static_cast<std::size_t>(random_.below(std::ssize(tags)))];
  const TagName name(row.name);
  const std::int64_t number = random_.spread(1, scenario_.has_stragglers() ? 3 : 100), next = row.max_id;
  const std::int64_t which = scenario_.subject == Subject::removals || scenario_.has_stragglers()
                                 ? random_.between(2, 4)
                             : scenario_.is_watched() ? random_.between(1, 2)
                                                      : random_.below(5);
  log_.note("change", 0, which, number);
  Host& host = some_host();
  operate(host, "change", [=, this, &host](Store& store) {
    const auto drop_below = [&](std::int64_t floor) {
      HostClock clock;
      drop_host_buffer(store.identity(), host_options(false), name, floor, milliseconds(5000), clock);
    };
    if (which == 0) {
      store.update_tag(name, TagChange{.step = number});
    } else if (which == 1) {
      tally_.has_limited = true;
      store.update_tag(name, TagChange{.limit = next + (scenario_.is_watched() ? 1 : 10) * number});
    } else if (which == 2) {
      store.update_tag(name, unlimited());
    } else if (which == 3) {
      // Where the tag has passed that, nothing changes: a grant that is on its way may still be buffered.
      const std::int64_t floor = next + number - (scenario_.has_stragglers() ? 1 : 0);
      const bool has_passed_it = store.update_tag(name, raised_to(floor)).next_id > floor;
      drop_below(floor);
      if (!has_passed_it) raise_order(host, name.str(), floor);
    } else {
      store.remove_tag(name);
      drop_below(max_id);
      store.add_tag(NewTag{.name = name, .step = number});
    }
  });
  return true;
}

/// As an entry of the DNS, a tunnel or a pooler that leads elsewhere. Operators say which store they mean.
void Faults::perhaps_repoint() {
  if (operators_ > 0 || is_restoring()) return;
  const Time now = Scheduler::the().now();
  const bool is_first = repoints_at_ == 0;
  if (scenario_.subject == Subject::moves) {
    repoints_at_ = scenario_.moves_once ? (is_first ? now + random_.between(5 * second, 40 * second) : never)
                                        : now + random_.spread(50 * millisecond, 20 * second);
  } else {
    repoints_at_ = now + (scenario_.takes_time ? random_.between(second, 3 * minute)
                                               : random_.spread(20 * microsecond, 5 * second));
  }
  if (is_first) return;
  if (scenario_.subject == Subject::copies && counts_[static_cast<std::size_t>(Fault::repoint)] == 0)
    server_.copy(/*lost_nothing=*/random_.one_in(2));
  const bool breaks_connections = random_.one_in(2);
  server_.repoint(breaks_connections);
  log_.note("repoint", 0, server_.store(), breaks_connections ? 1 : 0);
  ++counts_[static_cast<std::size_t>(Fault::repoint)];
}

void Faults::turn() {
  if (have_ended_ || operators_ > 0) return;
  server_.repoint(/*breaks_connections=*/true);
  log_.note("repoint", 0, server_.store(), 1);
  ++counts_[static_cast<std::size_t>(Fault::repoint)];
}

// Controls.

bool Faults::break_promise() {
  tally_.is_doubtful = true;
  switch (plan_.control) {
    case Control::no_guard: {
      const std::size_t lag = some_lag(40);
      ServerName name = server_.model.here;
      ++name.timeline;
      log_.note("failover without a guard", 0, static_cast<std::int64_t>(lag));
      server_.become(Tables(server_.before(lag)), name);
      const store::Value parameters[] = {name.text(), std::int64_t{1}, std::int64_t{1}};
      server_.model.run(StoreModel::sql().settle_failover, parameters, server_.clock_ms(), random_);
      return true;
    }
    case Control::no_raise:
    case Control::no_durability: {
      const std::size_t lag = some_lag(plan_.control == Control::no_raise ? 300 : 10);
      log_.note("commits are undone", 0, static_cast<std::int64_t>(lag));
      server_.become(Tables(server_.before(lag)), ServerName(server_.model.here));
      return true;
    }
    case Control::copied_folder:
      return copy_folder();
    case Control::word_of_all:
      return fail_over();
    case Control::none:
      break;
  }
  return false;
}

/// As a virtual machine's snapshot does with memory: first it is taken, later put back.
bool Faults::copy_folder() {
  if (saved_.empty()) {
    for (const auto& [path, folder] : some_host().folders) {
      for (const auto& [name, inode] : folder->entries)
        saved_.push_back({inode, std::vector(inode->memory, inode->memory + inode->size)});
    }
    return !saved_.empty();
  }
  log_.note("folder is put back");
  for (const SavedFile& file : saved_)
    std::memcpy(file.inode->memory, file.content.data(), file.content.size());
  saved_.clear();
  return true;
}

}  // namespace leaf::simulation
