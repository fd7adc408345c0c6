/// Runs histories until one breaks a promise, or there were enough: see scripts/prove.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "simulation/history.hpp"

namespace {

using namespace leaf::simulation;

struct Options {
  Plan plan{};
  std::optional<std::uint64_t> histories{};
  std::optional<double> minutes{};
  std::uint64_t branches = 10;   ///< for each history, on average
  std::FILE* against = nullptr;  ///< the steps of another program's histories
  bool is_recorded = false;
  bool is_shown = false;
  bool is_of_all = true;  ///< no subject is named
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "simulate: %s\n", why.c_str());
  std::exit(2);
}

template <typename Names>
std::size_t index_of(const Names& names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  refuse("there is no '" + std::string(name) + "'");
}

double number_of(std::string_view option, const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || number < 0)
    refuse(std::string(option) + " takes a number, not '" + text + "'");
  return number;
}

Branch branch_of(const char* text) {
  char* end = nullptr;
  Branch branch{.step = std::strtoll(text, &end, 10), .seed = 0};
  const bool has_seed = *end == ':';
  if (has_seed) branch.seed = std::strtoull(end + 1, &end, 10);
  if (branch.step < 1 || !has_seed || *end != '\0' || end[-1] == ':')
    refuse("--branch takes STEP:SEED, not '" + std::string(text) + "'");
  return branch;
}

Plan modelled(Plan plan, Model model) {
  plan.model = model;
  switch (model) {
    case Model::none:
      break;
    case Model::segment:
      plan.faults = only({Fault::kill, Fault::stop, Fault::network});
      plan.most_slots = 2;
      plan.most_calls = 6;
      break;
    case Model::window:
      plan.faults = only({Fault::kill, Fault::stop, Fault::network, Fault::clock, Fault::recycle});
      plan.most_slots = 3;
      plan.most_calls = 20;
      break;
    case Model::failover:
      plan.faults = only({Fault::kill, Fault::network, Fault::failover});
      plan.most_slots = 3;
      plan.most_calls = 60;
      break;
  }
  return plan;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--show") {
      options.is_shown = true;
      continue;
    }
    if (option == "--steps") {
      options.is_recorded = true;
      continue;
    }
    if (i + 1 == count) refuse("what is '" + std::string(option) + "'?");
    const char* const value = arguments[++i];
    if (option == "--seed") {
      options.plan.seed = std::strtoull(value, nullptr, 10);
    } else if (option == "--histories") {
      options.histories = static_cast<std::uint64_t>(number_of(option, value));
    } else if (option == "--minutes") {
      options.minutes = number_of(option, value);
    } else if (option == "--without") {
      options.plan.faults &= ~(1U << index_of(fault_names, value));
    } else if (option == "--modelled") {
      options.is_of_all = false;
      options.plan = modelled(options.plan, static_cast<Model>(index_of(model_names, value)));
    } else if (option == "--about") {
      options.is_of_all = false;
      if (value != chance) options.plan.subject = static_cast<Subject>(index_of(subject_names, value));
    } else if (option == "--hosts") {
      options.plan.most_hosts = static_cast<int>(number_of(option, value));
    } else if (option == "--programs") {
      options.plan.most_slots = static_cast<int>(number_of(option, value));
    } else if (option == "--calls") {
      options.plan.most_calls = static_cast<int>(number_of(option, value));
    } else if (option == "--branch") {
      options.plan.branch = branch_of(value);
    } else if (option == "--branches") {
      options.branches = static_cast<std::uint64_t>(number_of(option, value));
    } else if (option == "--against") {
      options.against = std::fopen(value, "rb");
      if (options.against == nullptr) refuse("cannot read '" + std::string(value) + "'");
    } else if (option == "--control") {
      options.is_of_all = false;
      options.plan.control = static_cast<Control>(index_of(control_names, value));
    } else {
      refuse("what is '" + std::string(option) + "'?");
    }
  }
  return options;
}

unsigned long long shown(std::uint64_t number) {
  return number;
}

int report_failure(const Plan& plan, const Outcome& outcome) {
  std::printf("\nBROKEN: %s\n  seen again by: scripts/prove %s --show\n", outcome.broken.data(),
              plan.text().c_str());
  std::fflush(stdout);
  if (plan.branch) return 1;  // with anything left out it would be another history from its first step on
  const Plan shorter = shortened(plan);
  std::printf("\nShortened: scripts/prove %s --show\n", shorter.text().c_str());
  run_history(shorter, stdout);
  return 1;
}

/// One of four histories is about a subject that chance does not pick, each in its turn.
Plan in_turn(Plan plan) {
  constexpr auto first = static_cast<std::uint64_t>(Subject::damages);
  if (plan.seed % 4 == 0)
    plan.subject = static_cast<Subject>(first + plan.seed / 4 % (subject_names.size() - first));
  return plan;
}

/// Ends the program once nobody reads any more: whoever compared has found what it looked for.
void write(const Steps& steps, std::FILE* file) {
  const std::uint64_t count = steps.size();
  if (std::fwrite(&count, sizeof count, 1, file) != 1 ||
      std::fwrite(steps.data(), sizeof steps[0], count, file) != count)
    std::exit(0);
}

void read(Steps& steps, std::FILE* file) {
  std::uint64_t count = 0;
  if (std::fread(&count, sizeof count, 1, file) != 1) refuse("the other program had fewer histories");
  steps.resize(count);
  if (std::fread(steps.data(), sizeof steps[0], count, file) != count) refuse("steps are cut off");
}

/// The histories of another program, and what is tried where they differ from this one's.
class OtherProgram {
 public:
  explicit OtherProgram(const Options& options) : steps_(options.against), per_history_(options.branches) {}

  /// A branch of that history that breaks a promise.
  std::optional<Plan> broken_branch(const Plan& plan, const Steps& steps) {
    constexpr std::uint64_t most = 300;
    read(others_, steps_);
    left_ += per_history_;
    const std::uint64_t before = tried_;
    const auto broken = leaf::simulation::broken_branch(plan, steps, others_, std::min(left_, most), tried_);
    left_ -= tried_ - before;
    if (tried_ > before || broken) ++differing_;
    return broken;
  }
  void report() const {
    std::printf("%llu differ from those of the other library; %llu branches from there\n", shown(differing_),
                shown(tried_));
  }

 private:
  std::FILE* steps_;
  std::uint64_t per_history_;
  std::uint64_t left_ = 0;
  std::uint64_t differing_ = 0;
  std::uint64_t tried_ = 0;
  Steps others_{};
};

int run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::uint64_t most = options.histories.value_or(options.minutes ? UINT64_MAX : 10'000);
  Plan plan = options.plan;
  Outcome sum;
  std::uint64_t histories = 0;
  Outcome last;
  Steps steps;
  auto other = options.against != nullptr ? std::optional(OtherProgram(options)) : std::nullopt;
  for (; histories < most && (!options.minutes || seconds() < *options.minutes * 60);
       ++histories, ++plan.seed) {
    const Plan this_one = options.is_of_all ? in_turn(plan) : plan;
    last = run_history(this_one, nullptr, options.is_recorded || other ? &steps : nullptr);
    if (options.is_recorded) write(steps, stdout);
    sum.hash = (sum.hash ^ last.hash) * 0x100000001B3;
    sum.ids += last.ids;
    sum.repeats += last.repeats;
    sum.calls += last.calls;
    sum.failed_calls += last.failed_calls;
    sum.processes += last.processes;
    for (std::size_t i = 0; i < sum.faults.size(); ++i) sum.faults[i] += last.faults[i];
    if (!last.is_good()) {
      plan = this_one;
      ++histories;
      break;
    }
    if (!other) continue;
    if (const auto broken = other->broken_branch(this_one, steps)) {
      plan = *broken;
      last = run_history(plan);
      ++histories;
      break;
    }
  }
  if (options.is_recorded) return last.is_good() ? 0 : 1;
  const double taken = seconds();
  std::printf("%llu histories from seed %llu, in %.1f s (%.0f a second)\n", shown(histories),
              shown(options.plan.seed), taken, static_cast<double>(histories) / taken);
  std::printf("%llu IDs in %llu calls (%llu failed) of %llu processes, %llu repeats\n", shown(sum.ids),
              shown(sum.calls), shown(sum.failed_calls), shown(sum.processes), shown(sum.repeats));
  if (other) other->report();
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    if (sum.faults[i] > 0) std::printf("%s %llu, ", fault_names[i], shown(sum.faults[i]));
  }
  std::printf("hash %016llx\n", shown(sum.hash));
  return last.is_good() ? 0 : report_failure(plan, last);
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  clearenv();  // PGHOST and the like are no part of a history
  if (!options.is_shown) return run(options);
  return run_history(options.is_of_all ? in_turn(options.plan) : options.plan, stdout).is_good() ? 0 : 1;
}
