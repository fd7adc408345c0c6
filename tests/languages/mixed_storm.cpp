#include "languages/mixed_storm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace leaf::test {

namespace {

constexpr int programs_of_a_language = 2;
/// One request in so many is followed by a disturbance.
constexpr int disturbed_one_in = 10;
/// How many other requests a program that was stopped sleeps through.
constexpr int stop_takes = 20;
/// No program may be silent for longer.
constexpr int patience_ms = 120'000;
/// Who holds the lock of a SQLite file and is stopped keeps all others waiting, who give up after 5 s; who
/// fetches loses the host's file after 2 s. So those that are stopped go on after a time between the two.
constexpr std::chrono::milliseconds longest_wait{3000};
constexpr int look_every_ms = 200;

std::runtime_error wrong(const std::string& what) {
  return std::runtime_error(what);
}

}  // namespace

MixedStorm::MixedStorm(std::map<std::string, std::string> languages, unsigned seed)
    : commands_(std::move(languages)), random_(seed) {
  signal(SIGPIPE, SIG_IGN);  // of programs that were killed
  for (const auto& [language, command] : commands_) {
    tallies_[language] = {};
    for (int i = 0; i < programs_of_a_language; ++i) programs_.push_back({.language = language});
  }
  for (Program& program : programs_) start(program);
}

MixedStorm::~MixedStorm() {
  for (Program& program : programs_) {
    if (program.process == -1) continue;
    kill(-program.process, SIGKILL);
    waitpid(program.process, nullptr, 0);
    close(program.requests);
    close(program.answers);
  }
}

void MixedStorm::start(Program& program) {
  std::array<int, 2> requests{};
  std::array<int, 2> answers{};
  if (pipe2(requests.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make a pipe");
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string command = commands_.at(program.language);
  const std::array<char*, 4> arguments{shell.data(), option.data(), command.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, requests[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, answers[1], STDOUT_FILENO);
  // A group of its own: what it has started is killed and stopped with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  const int error =
      posix_spawn(&program.process, shell.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(requests[0]);
  close(answers[1]);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start '{}': error {}", command, error));
  program.requests = requests[1];
  program.answers = answers[0];
  fcntl(program.answers, F_SETFL, O_NONBLOCK);
  program.busy = false;
  program.stopped_for = 0;
  program.unread.clear();
}

void MixedStorm::run(std::int64_t ids, std::int64_t ids_a_request) {
  int silent_ms = 0;
  while (tag_ids_ < ids || !all_have_drawn()) {
    for (Program& program : programs_) {
      if (program.busy || program.stopped_for > 0) continue;
      request(program, ids_a_request);
      if (std::uniform_int_distribution<int>(1, disturbed_one_in)(random_) == 1) disturb();
    }
    std::vector<pollfd> files;
    for (const Program& program : programs_) files.push_back({program.answers, POLLIN, 0});
    const int answering = poll(files.data(), files.size(), look_every_ms);
    if (is_kept_waiting()) wake_all();
    silent_ms = answering == 0 ? silent_ms + look_every_ms : 0;
    if (silent_ms > patience_ms) throw wrong("no program answers any more");
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (files[i].revents == 0) continue;
      if (!read_answers(programs_[i]))
        throw wrong(fmt::format("the program of {} has ended by itself", programs_[i].language));
    }
  }
  wake_all();
}

/// What is drawn from now on has to be above what has been had.
void MixedStorm::request(Program& program, std::int64_t ids) {
  program.tag_floor = highest_tag_id_;
  program.snowflake_floor = highest_snowflake_;
  program.busy = true;
  program.asked_at = std::chrono::steady_clock::now();
  const std::string line = fmt::format("{}\n", ids);
  if (write(program.requests, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw wrong(fmt::format("the program of {} takes no requests", program.language));
  for (Program& other : programs_) {
    if (other.stopped_for > 0 && --other.stopped_for == 0) kill(-other.process, SIGCONT);
  }
}

/// Takes the lines that are there; false at their end.
bool MixedStorm::read_answers(Program& program) {
  std::array<char, 65536> part{};
  ssize_t size;
  while ((size = read(program.answers, part.data(), part.size())) > 0) {
    program.unread.append(part.data(), static_cast<std::size_t>(size));
    std::string_view rest = program.unread;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      take_line(program, rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    program.unread.erase(0, program.unread.size() - rest.size());
  }
  return size < 0 && (errno == EAGAIN || errno == EINTR);
}

void MixedStorm::take_line(Program& program, std::string_view line) {
  if (line == ".") {
    program.busy = false;
    return;
  }
  std::int64_t id = -1;
  const auto [end, error] = std::from_chars(line.data() + !line.empty(), line.data() + line.size(), id);
  const bool is_id = error == std::errc{} && end == line.data() + line.size();
  if (is_id && line.front() == 't') {
    take_tag_id(program, id);
  } else if (is_id && line.front() == 's') {
    take_snowflake(program, id);
  } else {
    throw wrong(fmt::format("the program of {} says: {}", program.language, line));
  }
}

void MixedStorm::take_tag_id(Program& program, std::int64_t id) {
  if (id <= program.tag_floor)
    throw wrong(fmt::format("{} drew ID {} after {}", program.language, id, program.tag_floor));
  program.tag_floor = id;
  const auto index = static_cast<std::size_t>(id);
  if (index >= seen_.size()) seen_.resize(2 * index);
  if (seen_[index]) throw wrong(fmt::format("{} drew ID {}, which was drawn before", program.language, id));
  seen_[index] = true;
  highest_tag_id_ = std::max(highest_tag_id_, id);
  ++tag_ids_;
  ++tallies_[program.language].tag_ids;
}

void MixedStorm::take_snowflake(Program& program, std::int64_t id) {
  if (id <= program.snowflake_floor)
    throw wrong(fmt::format("{} made snowflake {} after {}", program.language, id, program.snowflake_floor));
  program.snowflake_floor = id;
  highest_snowflake_ = std::max(highest_snowflake_, id);
  snowflakes_.push_back(id);
  ++tallies_[program.language].snowflakes;
}

void MixedStorm::disturb() {
  Program& program = programs_[std::uniform_int_distribution<std::size_t>(0, programs_.size() - 1)(random_)];
  if (std::uniform_int_distribution<int>(0, 1)(random_) == 0) {
    kill_and_restart(program);
  } else if (program.stopped_for == 0 && stopped() < programs_.size() / 2) {
    kill(-program.process, SIGSTOP);
    program.stopped_for = stop_takes;
    ++tallies_[program.language].stops;
  }
}

/// What it has drawn and written counts.
void MixedStorm::kill_and_restart(Program& program) {
  kill(-program.process, SIGKILL);
  waitpid(program.process, nullptr, 0);
  pollfd file{program.answers, POLLIN, 0};
  while (read_answers(program)) {
    if (poll(&file, 1, patience_ms) == 0) throw wrong("a program that was killed does not end");
  }
  close(program.requests);
  close(program.answers);
  ++tallies_[program.language].kills;
  start(program);
}

void MixedStorm::wake(Program& program) {
  if (program.stopped_for > 0) kill(-program.process, SIGCONT);
  program.stopped_for = 0;
}

void MixedStorm::wake_all() {
  for (Program& program : programs_) wake(program);
}

/// A language that takes long to start may be at its begin when the others have drawn them all.
bool MixedStorm::all_have_drawn() const {
  return std::ranges::all_of(
      tallies_, [](const auto& tally) { return tally.second.tag_ids > 0 && tally.second.snowflakes > 0; });
}

bool MixedStorm::is_kept_waiting() const {
  const auto since = std::chrono::steady_clock::now() - longest_wait;
  return std::ranges::any_of(programs_, [&](const Program& program) {
    return program.busy && program.stopped_for == 0 && program.asked_at < since;
  });
}

std::size_t MixedStorm::stopped() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(programs_, [](const Program& program) { return program.stopped_for > 0; }));
}

}  // namespace leaf::test
