#include "race/race.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace leaf::test {

namespace {

using std::chrono::microseconds;

constexpr microseconds shortest_peace{200};
constexpr microseconds longest_peace{4000};
/// Of the disturbances of a running process, one in so many kills it; the others stop it.
constexpr int kill_one_in = 5;

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
    std::this_thread::sleep_for(microseconds(peace(random_)));
    disturb_one();
  }
  board.over = true;
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
  const auto number = std::uniform_int_distribution<std::size_t>(0, runners_.size() - 1)(random_);
  Runner& runner = runners_[number];
  if (runner.stopped) {
    kill(runner.process, SIGCONT);
    runner.stopped = false;
  } else if (std::uniform_int_distribution<int>(1, kill_one_in)(random_) != 1) {
    kill(runner.process, SIGSTOP);
    runner.stopped = true;
    ++stops_;
    return;
  }
  if (std::uniform_int_distribution<int>(1, kill_one_in)(random_) != 1) return;
  kill(runner.process, SIGKILL);
  ++kills_;
  int status = 0;
  wait_for(runner.process, status);
  start(number);
}

/// One that was not killed has to come to its end.
void Race::end(Runner& runner) {
  kill(runner.process, SIGCONT);
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
