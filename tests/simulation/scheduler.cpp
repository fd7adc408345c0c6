#include "simulation/scheduler.hpp"

#include <cxxabi.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <string_view>

#include "simulation/arena.hpp"
#include "simulation/point.hpp"

namespace leaf::simulation {

std::int64_t points_left = std::numeric_limits<std::int64_t>::max();
std::int64_t moments_left = std::numeric_limits<std::int64_t>::max();

namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_size = std::size_t{256} << 10;
constexpr std::size_t page = 4096;

/// How many points somebody passes after a moment, at most, before it straggles.
constexpr std::int64_t most_before_straggling = 64;

/// Stacks outlive histories: to map one takes as long as a short history.
std::vector<std::byte*>& spare_stacks() {
  static std::vector<std::byte*>& stacks = *new std::vector<std::byte*>;
  return stacks;
}

std::byte* take_stack() {
  const Arena::Pause pause;
  auto& spare = spare_stacks();
  if (!spare.empty()) {
    std::byte* const stack = spare.back();
    spare.pop_back();
    return stack;
  }
  void* const memory = std::aligned_alloc(page, stack_size);  // mmap() is the simulated one here
  if (memory == nullptr || mprotect(memory, page, PROT_NONE) != 0) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void give_back_stack(std::byte* stack) {
  const Arena::Pause pause;
  spare_stacks().push_back(stack);
}

/// The `thread_local` variables of this program: there is one real thread, so they are exchanged with each
/// switch.
struct ThreadLocals {
  std::byte* begin = nullptr;
  std::size_t size = 0;
  const std::byte* image = nullptr;
  std::size_t image_size = 0;
};

const ThreadLocals& thread_locals() {
  static const ThreadLocals found = [] {
    ThreadLocals locals;
    const auto look = [](dl_phdr_info* program, std::size_t, void* result) {
      auto& of_program = *static_cast<ThreadLocals*>(result);
      for (int i = 0; i < program->dlpi_phnum; ++i) {
        const auto& header = program->dlpi_phdr[i];
        if (header.p_type != PT_TLS) continue;
        of_program.begin = static_cast<std::byte*>(program->dlpi_tls_data);
        of_program.size = header.p_memsz;
        of_program.image = reinterpret_cast<const std::byte*>(program->dlpi_addr + header.p_vaddr);
        of_program.image_size = header.p_filesz;
      }
      return 1;  // the program itself comes first
    };
    dl_iterate_phdr(look, &locals);
    return locals;
  }();
  return found;
}

/// What the C++ runtime keeps of the exceptions of a thread.
struct Exceptions {
  void* caught;
  unsigned uncaught;
};
Exceptions& exceptions() {
  return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
}

}  // namespace

struct Fiber {
  enum class State : std::uint8_t { ready, waiting, done };

  Process* process;
  std::function<void()> body;
  State state = State::ready;
  bool was_woken = false;
  bool straggles = false;
  std::uint64_t place = 0;  ///< the last in the library, where places count
  const void* waits_for = nullptr;
  Time not_before = 0;  ///< if ready: when it may run; if waiting: the deadline
  Time due = 0;         ///< from when on it waits for nothing but its turn
  std::byte* stack = nullptr;
  context::fcontext_t at = nullptr;
  std::vector<std::byte> locals{};
  Exceptions exceptions{};
  int error = 0;
};

Scheduler* Scheduler::the_ = nullptr;

namespace {

context::fcontext_t main_at = nullptr;

void run_body(context::transfer_t from) {
  main_at = from.fctx;
  auto& fiber = *static_cast<Fiber*>(from.data);
  try {
    fiber.body();
  } catch (const std::exception& error) {
    Scheduler::the().on_escape(*fiber.process, error.what());
  }
  fiber.state = Fiber::State::done;
  --fiber.process->threads;
  Scheduler::the().wake_all(&fiber);
  context::jump_fcontext(main_at, nullptr);
  std::abort();
}

}  // namespace

Scheduler::Scheduler(Random& random, Time begin) : random_(random), now_(begin) {
  thread_locals();
  the_ = this;
}

Scheduler::~Scheduler() {
  for (Fiber* const fiber : fibers_) {
    if (fiber->stack != nullptr) give_back_stack(fiber->stack);
  }
  the_ = nullptr;
  finds_no_memory = nullptr;
  points_left = moments_left = std::numeric_limits<std::int64_t>::max();
}

void Scheduler::set_stragglers(std::int64_t moments_between, Stragglers who,
                               std::function<Time(Process&)> stop) {
  stragglers_ = who;
  stop_straggler_ = std::move(stop);
  moments_between_stragglers_ = moments_between;
  moments_left = random_.below(2 * moments_between);
}

void Scheduler::set_places(std::int64_t one_of, std::function<Time(Process&)> hold_up) {
  places_.emplace(Places{.salt = random_.next(), .one_of = one_of, .hold_up = std::move(hold_up)});
}

Process& Scheduler::make_process(Host& host) {
  processes_.push_back(
      std::make_unique<Process>(Process{.number = static_cast<int>(processes_.size()) + 1, .host = &host}));
  return *processes_.back();
}

Fiber& Scheduler::start(Process& process, std::function<void()> body) {
  auto* const fiber = new Fiber{.process = &process, .body = std::move(body)};
  const ThreadLocals& own = thread_locals();
  fiber->locals.resize(own.size);
  std::copy_n(own.image, own.image_size, fiber->locals.begin());
  fiber->due = now_;
  fiber->stack = take_stack();
  fiber->at = context::make_fcontext(fiber->stack + stack_size, stack_size - page, &run_body);
  fibers_.push_back(fiber);
  ++process.threads;
  return *fiber;
}

void Scheduler::at(Time time, std::function<void()> action) {
  actions_.emplace(time, std::move(action));
}

bool Scheduler::is_done(const Fiber& fiber) noexcept {
  return fiber.state == Fiber::State::done;
}

Time Scheduler::kept_waiting(const Process& process) const noexcept {
  Time all = process.kept_waiting;
  for (const Fiber* const fiber : fibers_) {
    if (fiber->process == &process && fiber != running_ && !is_done(*fiber))
      all += std::max<Time>(0, now_ - fiber->due);
  }
  return all;
}

void Scheduler::kill(Process& process) {
  if (process.threads > 0) {
    process.died_at = now_;
    process.kept_waiting = kept_waiting(process);
  }
  process.is_dead = true;
  process.threads = 0;
  for (Fiber* const fiber : fibers_) {
    if (fiber->process == &process) fiber->state = Fiber::State::done;
  }
  has_ended_ = true;
}

Process& Scheduler::process() const noexcept {
  return *running_->process;
}

void Scheduler::run_actions() {
  while (!actions_.empty() && actions_.begin()->first <= now_) {
    const auto action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action();
  }
}

Time Scheduler::next_time() const {
  Time next = actions_.empty() ? never : actions_.begin()->first;
  for (const Fiber* const fiber : fibers_)
    next = std::min(next, std::max(fiber->not_before, fiber->process->stopped_until));
  return next;
}

void Scheduler::run(const std::function<bool()>& is_over) {
  // Those of whoever calls this are not a fiber's.
  const ThreadLocals& own = thread_locals();
  const std::vector<std::byte> of_caller(own.begin, own.begin + own.size);
  is_over_ = &is_over;
  has_finished_ = false;
  while (!has_finished_) {
    if (chosen_ == nullptr) {
      chosen_ = choose(nullptr);
      continue;
    }
    resume(*std::exchange(chosen_, nullptr));
    // Else the thread has chosen before it left.
    const bool has_body_ended = chosen_ == nullptr && !is_at_drop_ && !has_finished_;
    if (has_body_ended) {
      has_ended_ = true;
      end_run();
    }
  }
  std::copy(of_caller.begin(), of_caller.end(), own.begin);
}

/// What runs next; null if all is over, or if `caller`, on whose stack this runs, has been killed.
Fiber* Scheduler::choose(const Fiber* caller) {
  for (;;) {
    if (!std::exchange(is_at_drop_, false)) {
      if ((*is_over_)()) break;
      run_actions();
      if (between) between();
    }
    if (caller != nullptr && is_done(*caller)) {
      is_at_drop_ = true;
      return nullptr;
    }
    if (std::exchange(has_ended_, false)) drop_ended();
    ready_.clear();
    for (Fiber* const fiber : fibers_) {
      if (fiber->not_before <= now_ && fiber->process->stopped_until <= now_) ready_.push_back(fiber);
    }
    if (!ready_.empty())
      return ready_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(ready_.size())))];
    const Time next = next_time();
    if (next == never) break;
    now_ = std::max(now_, next);
  }
  has_finished_ = true;
  return nullptr;
}

void Scheduler::begin_run(Fiber& fiber) {
  fiber.state = Fiber::State::ready;
  last_ = fiber.process;
  last_fiber_ = &fiber;
  fiber.process->kept_waiting += std::max<Time>(0, now_ - fiber.due);
  running_ = &fiber;
  take_step(*fiber.process);
  choose_run_length();
}

void Scheduler::take_step(const Process& process) {
  if (++step_; branch_ && step_ == branch_->step) random_ = Random(branch_->seed);
  if (steps_ == nullptr) return;
  std::uint64_t step = Random(random_).next();  // what chance has in store tells how often it was asked
  step ^= static_cast<std::uint64_t>(now_) * 0x9E3779B97F4A7C15 ^ static_cast<std::uint64_t>(process.number);
  const Arena::Pause pause;
  steps_->push_back(static_cast<std::uint32_t>(step >> 32));
}

void Scheduler::end_run() {
  running_ = nullptr;
  points_left = std::numeric_limits<std::int64_t>::max();
  pass(random_.spread(100, 50 * microsecond));
}

void Scheduler::drop_ended() {
  std::erase_if(fibers_, [](Fiber* fiber) {
    if (fiber->state != Fiber::State::done) return false;
    give_back_stack(fiber->stack);
    fiber->stack = nullptr;
    return true;
  });
}

/// Mostly long, so that calls come to an end, and often short, so that others come in between.
void Scheduler::choose_run_length() {
  std::int64_t& points = points_of_run();
  points = is_calm_ ? 4096 : random_.spread(1, random_.one_in(2) ? longest_run_ : 16);
  if (running_->straggles) points = std::min(points, most_before_straggling);
  if (looks_at_places()) points_left = 0;
}

std::int64_t& Scheduler::points_of_run() noexcept {
  return looks_at_places() ? points_of_run_ : points_left;
}

void Scheduler::resume(Fiber& fiber) {
  const ThreadLocals& own = thread_locals();
  std::memcpy(own.begin, fiber.locals.data(), own.size);
  const Exceptions of_main = std::exchange(exceptions(), fiber.exceptions);
  errno = fiber.error;
  begin_run(fiber);
  fiber.at = context::jump_fcontext(fiber.at, &fiber).fctx;
  running_ = nullptr;
  fiber.error = errno;
  fiber.exceptions = std::exchange(exceptions(), of_main);
  std::memcpy(fiber.locals.data(), own.begin, own.size);
}

/// Mostly the same thread goes on: then its stack is not left for that.
void Scheduler::switch_away() {
  Fiber& self = *running_;
  const int error = errno;
  end_run();
  chosen_ = choose(&self);
  errno = error;
  if (chosen_ == &self) {
    chosen_ = nullptr;
    begin_run(self);
    return;
  }
  main_at = context::jump_fcontext(main_at, nullptr).fctx;
}

/// The same for all programs that are made of that code. What the system is asked for differs by what was
/// done before.
std::uint64_t number_of(const std::source_location& where, std::uint64_t place_before) {
  const std::string_view path = where.file_name();
  const std::string_view file = path.substr(path.rfind('/') + 1);
  std::uint64_t number = where.line();
  for (const char letter : file) number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
  return file == "system.cpp" ? (number ^ place_before) * 0x9E3779B97F4A7C15 : number;
}

/// The first times, or some later ones: where many come all the time it would be all that happens.
bool Scheduler::is_held_up(const std::source_location& where) {
  const std::uint64_t before = running_->place, place = number_of(where, before);
  running_->place = place;
  // What several do in their own ways differs too.
  const std::uint64_t mixed = (place ^ before << 1 ^ places_->salt) * 0xC2B2AE3D27D4EB4F;
  std::uint32_t& times = places_->times_come_to[(mixed >> 32) % Places::most];
  ++times;
  if ((mixed >> 44) % static_cast<std::uint64_t>(places_->one_of) != 0) return false;
  const std::uint32_t which = 1U << (mixed >> 20) % 7;
  return times % which == 0 && times <= 4 * which;
}

void Scheduler::come_to(const std::source_location& where) {
  if (!looks_at_places()) return preempt();
  if (is_held_up(where)) {
    running_->due = now_;
    running_->not_before = now_ + places_->hold_up(*running_->process);
    switch_away();
  } else if (--points_of_run_ < 0) {
    preempt();
  } else {
    points_left = 0;
  }
}

void Scheduler::preempt() {
  if (running_ == nullptr) return;
  const Time straggles_for =
      std::exchange(running_->straggles, false) && !is_calm_ ? stop_straggler_(*running_->process) : 0;
  // Now and then the system runs something else for long.
  running_->due = now_;
  running_->not_before =
      !is_calm_ && random_.one_in(32) ? now_ + random_.spread(microsecond, longest_stall_) : 0;
  if (straggles_for > 0) running_->not_before = now_ + straggles_for;
  switch_away();
}

Time Scheduler::next_wake(Time deadline) {
  if (!wakes_for_nothing_ || is_calm_ || !random_.one_in(4)) return deadline;
  return std::min(deadline, now_ + random_.spread(microsecond, second));
}

bool Scheduler::may_straggle() const noexcept {
  const Process& process = *running_->process;
  if (stragglers_ == Stragglers::holders_of_two) return process.locks > 1;
  return stragglers_ == Stragglers::all || (stragglers_ != Stragglers::takers && process.locks > 0) ||
         (stragglers_ != Stragglers::holders && process.folders > 0);
}

void Scheduler::straggle() {
  if (!may_straggle()) {
    moments_left = 0;
    return;
  }
  moments_left = random_.below(2 * moments_between_stragglers_);
  running_->straggles = true;
  points_of_run() = std::min(points_of_run(), random_.spread(0, most_before_straggling));
}

void straggle() {
  if (Scheduler::in_thread()) Scheduler::the().straggle();
}

void preempt(const std::source_location& where) {
  if (Scheduler::in_thread()) {
    Scheduler::the().come_to(where);
  } else {
    points_left = std::numeric_limits<std::int64_t>::max();
  }
}

void Scheduler::sleep_until(Time time) {
  running_->not_before = running_->due = time;
  switch_away();
}

bool Scheduler::wait(const void* what, Time deadline) {
  Fiber& fiber = *running_;
  fiber.state = Fiber::State::waiting;
  fiber.was_woken = false;
  fiber.waits_for = what;
  fiber.not_before = fiber.due = deadline;
  switch_away();
  fiber.waits_for = nullptr;
  return fiber.was_woken;
}

void Scheduler::wake_all(const void* what) {
  for (Fiber* const fiber : fibers_) {
    if (fiber->waits_for == what && fiber->state == Fiber::State::waiting) wake(*fiber);
  }
}

void Scheduler::wake(Fiber& fiber) const {
  fiber.was_woken = true;
  fiber.not_before = 0;
  fiber.due = now_;
  fiber.waits_for = nullptr;
}

void Scheduler::wake_one(const void* what) {
  const auto is_waiting = [what](const Fiber* fiber) {
    return fiber->waits_for == what && fiber->state == Fiber::State::waiting;
  };
  const auto waiting = std::ranges::count_if(fibers_, is_waiting);
  if (waiting == 0) return;
  auto chosen = std::ranges::find_if(fibers_, is_waiting);
  for (std::int64_t before = random_.below(waiting); before > 0; --before)
    chosen = std::find_if(std::next(chosen), fibers_.end(), is_waiting);
  wake(**chosen);
}

}  // namespace leaf::simulation
