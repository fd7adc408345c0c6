#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "simulation/history.hpp"
#include "simulation/random.hpp"

namespace leaf::simulation {

/// True time, in nanoseconds since the Unix epoch; no clock has to show it.
using Time = std::int64_t;
inline constexpr Time never = std::numeric_limits<Time>::max();
inline constexpr Time microsecond = 1'000;
inline constexpr Time millisecond = 1'000'000;
inline constexpr Time second = 1'000'000'000;
inline constexpr Time minute = 60 * second;

struct Host;

/// A thread of a process, with a stack of its own.
struct Fiber;

/// A program that runs on a host: its threads live and die together.
struct Process {
  int number;
  Host* host;
  bool is_dead = false;
  int threads = 0;         ///< that have not ended
  Time stopped_until = 0;  ///< not scheduled before, as after SIGSTOP
  int times_stopped = 0;
  Time died_at = 0;                     ///< killed while threads ran
  std::vector<std::uint32_t> mapped{};  ///< how often, by the page of all files
  int locks = 0;                        ///< of files, that it holds
  int folders = 0;                      ///< open, each as its entry "."
  Time kept_waiting = 0;  ///< of all threads, where they could have run and others did, or nobody
  /// Who holds the mutexes that the library has once for a process: here all processes share their places.
  std::map<const void*, Fiber*> static_mutexes{};
};

/// Who may straggle.
enum class Stragglers : std::uint8_t {
  all,
  holders,         ///< of the lock of a file
  takers,          ///< who has the folder open as one of its own entries: they make a file, or take one away
  both,            ///< holders and takers
  holders_of_two,  ///< of the locks of two files: of two stores
};

/// Runs the threads of all processes, one at a time, each up to a point where another may go on; chance picks
/// both. Time goes on as they run, and jumps ahead where all wait.
class Scheduler {
 public:
  Scheduler(Random& random, Time begin);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The one of this history.
  static Scheduler& the() noexcept { return *the_; }
  /// True in a thread of a process, false outside.
  static bool in_thread() noexcept { return the_ != nullptr && the_->running_ != nullptr; }

  Time now() const noexcept { return now_; }
  /// Whose thread ran last; null if none has.
  const Process* last() const noexcept { return last_; }
  const Fiber* last_fiber() const noexcept { return last_fiber_; }
  Random& random() noexcept { return random_; }
  /// Time that somebody takes for something.
  void pass(Time duration) noexcept { now_ += duration; }

  /// How many points may lie between two switches at most; more makes a history quicker and calmer.
  void set_longest_run(std::int64_t points) noexcept { longest_run_ = points; }
  /// From now on all runs are long: for what is looked at for its end, not for who comes in between.
  void calm_down() noexcept { is_calm_ = true; }
  /// How long the system runs something else at most, now and then.
  void set_longest_stall(Time longest) noexcept { longest_stall_ = longest; }
  /// From now on who waits for a condition is sometimes woken for nothing, as POSIX has it.
  void wake_for_nothing() noexcept { wakes_for_nothing_ = true; }
  /// Until when who waits for a condition waits now: until `deadline`, or less.
  Time next_wake(Time deadline);

  /// From now on one of about so many moments is one soon after which whoever was at it straggles: `stop()`
  /// stops its process, or ends it, or says for how long that thread alone does not go on.
  void set_stragglers(std::int64_t moments_between, Stragglers who, std::function<Time(Process&)> stop);

  /// From now on some of those who come to one of about so many places of the code are held up before they go
  /// on, as `hold_up()` says, which is as `stop` above.
  void set_places(std::int64_t one_of, std::function<Time(Process&)> hold_up);

  /// From that step on chance goes by another seed.
  void branch_off(const Branch& branch) noexcept { branch_ = branch; }
  /// Writes down each step there.
  void record(Steps& steps) noexcept { steps_ = &steps; }

  Process& make_process(Host& host);
  /// A thread of `process`. An exception that leaves `body` goes to `on_escape`.
  Fiber& start(Process& process, std::function<void()> body);
  /// Called outside of all threads at that time.
  void at(Time time, std::function<void()> action);
  /// Called outside of all threads before each run of one.
  std::function<void()> between;
  std::function<void(const Process&, const std::string&)> on_escape;
  /// A process touches a file that it does not map.
  std::function<void(const Process&)> on_wild_access;

  /// Ends when `is_over()`, or when nobody has anything left to do.
  void run(const std::function<bool()>& is_over);
  /// None of its threads runs again.
  void kill(Process& process);
  /// Including that of threads that wait for their turn.
  Time kept_waiting(const Process& process) const noexcept;
  /// Whether that thread has ended.
  static bool is_done(const Fiber& fiber) noexcept;

  // In a thread:

  Process& process() const noexcept;
  Fiber& running() const noexcept { return *running_; }
  void preempt();
  void come_to(const std::source_location& where);
  void straggle();
  bool may_straggle() const noexcept;
  void sleep_until(Time time);
  /// Waits until somebody wakes it, or until `deadline`. True if woken.
  bool wait(const void* what, Time deadline = never);
  void wake_all(const void* what);
  void wake_one(const void* what);

 private:
  Fiber* choose(const Fiber* caller);
  void wake(Fiber& fiber) const;
  void begin_run(Fiber& fiber);
  void take_step(const Process& process);
  void end_run();
  void switch_away();
  void resume(Fiber& fiber);
  void choose_run_length();
  bool is_held_up(const std::source_location& where);
  bool looks_at_places() const noexcept { return places_ && !is_calm_; }
  /// How many more points the run has.
  std::int64_t& points_of_run() noexcept;
  void drop_ended();
  Time next_time() const;
  void run_actions();

  static Scheduler* the_;

  Random& random_;
  std::optional<Branch> branch_{};
  Steps* steps_ = nullptr;
  std::int64_t step_ = 0;
  Time now_;
  std::int64_t longest_run_ = 4096;
  bool is_calm_ = false;
  std::int64_t moments_between_stragglers_ = 0;
  Stragglers stragglers_ = Stragglers::all;
  std::function<Time(Process&)> stop_straggler_;
  struct Places {
    static constexpr std::size_t most = 4096;
    std::uint64_t salt;
    std::int64_t one_of;
    std::function<Time(Process&)> hold_up;
    std::array<std::uint32_t, most> times_come_to{};  ///< by what is left of their numbers
  };
  std::optional<Places> places_;
  std::int64_t points_of_run_ = 0;  ///< where each point is looked at
  Time longest_stall_ = 3 * second;
  bool wakes_for_nothing_ = false;
  bool has_ended_ = false;  ///< one of `fibers_` has
  const std::function<bool()>* is_over_ = nullptr;
  bool has_finished_ = false;
  bool is_at_drop_ = false;  ///< where choose() goes on, once its caller's stack was left
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Fiber*> fibers_;
  std::vector<Fiber*> ready_;
  Fiber* running_ = nullptr;
  Fiber* chosen_ = nullptr;  ///< to run next
  const Process* last_ = nullptr;
  const Fiber* last_fiber_ = nullptr;
  std::multimap<Time, std::function<void()>> actions_;
};

}  // namespace leaf::simulation
