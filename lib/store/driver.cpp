#include "store/driver.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/module.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

const Driver& load(const std::string& name) {
  const auto module = load_module(name, fmt::format("driver '{}'", name));
  if (!module) {
    throw Error(ErrorCode::usage, fmt::format("the driver for '{}' is not installed", name),
                fmt::format("install the package 'libleaf-{}'"_hint, name));
  }
  const auto* driver = static_cast<const Driver*>(module->symbol("leaf_store_driver"));
  if (driver == nullptr || std::string_view(driver->built_with) != LEAF_VERSION) {
    throw Error(
        ErrorCode::unavailable, fmt::format("driver '{}' is not of version {}", module->file, LEAF_VERSION),
        fmt::format(
            "if packages are being upgraded, try again; if that happened while this program was running, "
            "restart it; otherwise install the same version of libleaf and libleaf-{}"_hint,
            name));
  }
  return *driver;
}

using Drivers = std::map<std::string, const Driver*>;

std::mutex mutex;
Drivers& loaded = *new Drivers;  // also for a fork() at the very end

/// This thread looks one up. Who forks in a signal handler that interrupts it would wait for itself.
thread_local bool is_looking = false;

struct Looking {
  Looking() { is_looking = true; }
  ~Looking() { is_looking = false; }
};

void before_fork() {
  if (is_looking) return;
  mutex.lock();
  for (const auto& [name, driver] : loaded) {
    if (driver->before_fork != nullptr) driver->before_fork();
  }
}

void after_fork(bool is_child) {
  if (is_looking) return;
  for (const auto& [name, driver] : loaded) {
    if (driver->after_fork != nullptr) driver->after_fork(is_child);
  }
  mutex.unlock();
}

/// Here and not at the first use: a thread may be at that while another one forks.
[[maybe_unused]] const int handled = pthread_atfork(
    &before_fork, [] { after_fork(false); }, [] { after_fork(true); });

}  // namespace

const Driver& driver(const std::string& name) {
  const Looking looking;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(name);
  if (found != loaded.end()) return *found->second;
  return *loaded.emplace(name, &load(name)).first->second;
}

}  // namespace leaf::store
