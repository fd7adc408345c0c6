#include "store/postgresql/login_threads.hpp"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "store/fork_guard.hpp"
#include "store/no_signals.hpp"

namespace leaf::store::postgresql {

namespace {

struct LoginThread {
  std::function<void()> work{};
  std::binary_semaphore has_work{0};
  LoginThread* next_idle = nullptr;
};

// Locked by who holds the fork guard alone, so that no child finds it so.
constinit std::mutex mutex;
constinit LoginThread* first_idle = nullptr;
constinit pid_t process = 0;  ///< whose threads they are

LoginThread* take_idle() {
  const fork_guard::Hold no_fork;
  const std::lock_guard lock(mutex);
  if (std::exchange(process, getpid()) != getpid()) first_idle = nullptr;
  LoginThread* const taken = first_idle;
  if (taken != nullptr) first_idle = taken->next_idle;
  return taken;
}

void give_back(LoginThread& thread) {
  const fork_guard::Hold no_fork;
  const std::lock_guard lock(mutex);
  thread.next_idle = std::exchange(first_idle, &thread);
}

[[noreturn]] void serve(LoginThread& self) noexcept {
  for (;;) {
    self.has_work.acquire();
    self.work();
    self.work = nullptr;
    give_back(self);
  }
}

}  // namespace

void run_in_login_thread(std::function<void()> work) {
  LoginThread* thread = take_idle();
  if (thread != nullptr) {
    thread->work = std::move(work);
  } else {
    auto made = std::make_unique<LoginThread>();
    made->work = std::move(work);
    const NoSignals in_thread;
    std::thread([self = made.get()] { serve(*self); }).detach();
    thread = made.release();
  }
  thread->has_work.release();
}

}  // namespace leaf::store::postgresql
