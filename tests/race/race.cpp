#include "race/race.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>

namespace leaf::test {

namespace {

using std::chrono::microseconds;

constexpr microseconds shortest_peace{200};
constexpr microseconds longest_peace{4000};
/// Each racer's own naps: how long it runs before, and how long they last. Signals from outside mostly come
/// to one that waits for a processor anyway; these come while it runs, at any instruction.
constexpr microseconds longest_run{2000};
constexpr microseconds longest_nap{40'000};

/// Of the disturbances, one in so many kills; the others stop.
constexpr std::size_t kill_one_in = 16;
constexpr int most_stopped = 3;

microseconds random_up_to(microseconds most) {
  static std::atomic<std::uint32_t> seed{std::random_device{}()};  // a signal may come to any thread
  std::minstd_rand random(seed += 0x9E3779B9);
  random.discard(1);
  return microseconds(std::uniform_int_distribution<microseconds::rep>(1, most.count())(random));
}

void wake_up_after(microseconds time) {
  const itimerval once{.it_interval = {0, 0}, .it_value = {0, time.count()}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

/// Handles SIGALRM. Other threads of the process go on.
void nap(int) {
  const int error = errno;
  const timespec length{0, std::chrono::nanoseconds(random_up_to(longest_nap)).count()};
  nanosleep(&length, nullptr);
  wake_up_after(random_up_to(longest_run));
  errno = error;
}

void begin_to_nap() {
  random_up_to(longest_nap);  // not for the first time in a signal handler
  struct sigaction action {};
  action.sa_handler = nap;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  wake_up_after(longest_run);
}

void wait_for(pid_t process, int& status) {
  while (waitpid(process, &status, 0) == -1 && errno == EINTR) {
  }
}

}  // namespace

Race::Race(int processes, Range covered, Body body)
    : body_(std::move(body)),
      records_(static_cast<std::size_t>(processes) + 1),
      runners_(static_cast<std::size_t>(processes)) {
  seen_.cover(covered);
}

RaceResult Race::run(std::uint64_t ids) {
  RaceBoard& board = board_[0];
  for (std::size_t number = 0; number < runners_.size(); ++number) start(number);
  Runner rival;
  if (rival_) rival.process = fork_racer(rival_, records_[runners_.size()], board.rivals_newest);
  std::uniform_int_distribution<microseconds::rep> peace(shortest_peace.count(), longest_peace.count());
  while (!board.over && drawn() < ids) {
    // Not for anything to happen: a disturbance has to come at any moment, also when nobody gets on.
    std::this_thread::sleep_for(microseconds(peace(random_)));
    disturb_one();
  }
  board.over = true;
  // All go on before one is waited for: it may itself wait for a stopped one.
  for (const Runner& runner : runners_) kill(runner.process, SIGCONT);
  for (Runner& runner : runners_) end(runner);
  if (rival_) end(rival);
  return result();
}

void Race::start(std::size_t number) {
  runners_[number] = {fork_racer(body_, records_[number], board_[0].newest), false};
}

pid_t Race::fork_racer(const Body& body, RaceRecord& record, std::atomic<std::int64_t>& newest) {
  ++record.starts;
  const pid_t process = fork();
  if (process == -1) throw std::runtime_error("cannot fork");
  if (process != 0) return process;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    seen_.open();
    if (&newest == &board_[0].newest) begin_to_nap();
    Racer racer(board_[0], record, seen_, newest);
    body(racer);
    _exit(EXIT_SUCCESS);
  } catch (const Error& error) {
    record.failure.set(error);
  } catch (const std::exception& error) {
    record.failure.set({ErrorCode::failed, error.what()});
  }
  board_[0].over = true;
  _exit(EXIT_FAILURE);
}

void Race::disturb_one() {
  const auto one_in = [this](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(1, n)(random_) == 1;
  };
  const auto number = std::uniform_int_distribution<std::size_t>(0, runners_.size() - 1)(random_);
  Runner& runner = runners_[number];
  if (one_in(kill_one_in)) {
    kill(runner.process, SIGKILL);
    ++kills_;
    int status = 0;
    wait_for(runner.process, status);
    start(number);
  } else if (!runner.stopped) {
    kill(runner.process, SIGSTOP);
    runner.stopped = true;
    ++stops_;
  }
  // Many at once would have all wait for a stopped one that fetches, most of the time.
  if (std::ranges::count(runners_, true, &Runner::stopped) <= most_stopped) return;
  std::size_t waking = number;
  while (waking == number || !runners_[waking].stopped) waking = (waking + 1) % runners_.size();
  kill(runners_[waking].process, SIGCONT);
  runners_[waking].stopped = false;
}

/// One that was not killed has to come to its end.
void Race::end(Runner& runner) {
  int status = 0;
  wait_for(runner.process, status);
  if (WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_FAILURE) return;
  lost_ = Error(ErrorCode::failed, fmt::format("a racer ended by itself with wait status {:#x}", status));
}

std::uint64_t Race::drawn() {
  std::uint64_t sum = 0;
  for (std::size_t number = 0; number < runners_.size(); ++number) sum += records_[number].ids;
  return sum;
}

RaceResult Race::result() {
  RaceResult result{.ids = drawn(),
                    .rivals_ids = records_[runners_.size()].ids,
                    .newest = board_[0].newest,
                    .stops = stops_,
                    .kills = kills_,
                    .violations = {},
                    .failure = lost_};
  for (RaceRecord& record : records_) {
    result.violations.merge(record.violations);
    if (record.failure.is_set()) result.failure = record.failure.error();
  }
  return result;
}

}  // namespace leaf::test
