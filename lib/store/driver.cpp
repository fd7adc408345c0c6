#include "store/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "shortage.hpp"

namespace leaf::store {

namespace {

namespace fs = std::filesystem;

/// Where this library itself lies.
fs::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&leaf::version), &info) == 0) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

const Driver& load(const std::string& name) {
  const std::string file = "libleaf-" + name + ".so";
  const fs::path here = library_folder();
  for (const fs::path& folder : {here / "leaf", here, fs::path(LEAF_INSTALLED_DRIVER_DIR)}) {
    std::error_code ignored;
    if (!fs::exists(folder / file, ignored)) continue;
    void* module = dlopen((folder / file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      const std::string text = fmt::format("driver '{}' cannot be loaded: {}", name, dlerror());
      // The loader has an errno of its own, and tells of it in words alone.
      for (const int shortage : {EMFILE, ENFILE, ENOMEM}) {
        if (text.ends_with(std::strerror(shortage)))
          throw Error(ErrorCode::unavailable, text, shortage_hint(shortage));
      }
      throw Error(ErrorCode::usage, text);
    }
    const auto* driver = static_cast<const Driver*>(dlsym(module, "leaf_store_driver"));
    if (driver == nullptr || std::string_view(driver->built_with) != LEAF_VERSION) {
      throw Error(ErrorCode::usage,
                  fmt::format("driver '{}' is not of version {}", (folder / file).string(), LEAF_VERSION),
                  fmt::format("install the same version of libleaf and libleaf-{}", name));
    }
    return *driver;
  }
  throw Error(ErrorCode::usage, fmt::format("the driver for '{}' is not installed", name),
              fmt::format("install the package 'libleaf-{}'", name));
}

using Drivers = std::map<std::string, const Driver*>;

std::mutex mutex;
Drivers& loaded = *new Drivers;  // also for a fork() at the very end

void before_fork() {
  mutex.lock();
  for (const auto& [name, driver] : loaded) {
    if (driver->before_fork != nullptr) driver->before_fork();
  }
}

void after_fork(bool is_child) {
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
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(name);
  if (found != loaded.end()) return *found->second;
  return *loaded.emplace(name, &load(name)).first->second;
}

}  // namespace leaf::store
