#include "store/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::store {

namespace {

namespace fs = std::filesystem;

/// What the kernel calls the file that `address` was mapped from: never relative, whatever folder the loader
/// was in when it found it.
fs::path mapped_file(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end;
    const auto path = line.find('/');
    if (address >= begin && address < end && path != std::string::npos) return line.substr(path);
  }
  return {};
}

/// Where this library itself lies; empty if that is not known any more, as of one that was removed.
fs::path library_folder() {
  const auto* const own = reinterpret_cast<const void*>(&leaf::version);
  Dl_info info{};
  if (dladdr(own, &info) == 0) return {};
  fs::path file = info.dli_fname;
  if (file.is_relative()) file = mapped_file(reinterpret_cast<std::uintptr_t>(own));
  std::error_code ignored;
  return file.is_absolute() ? fs::canonical(file, ignored).parent_path() : fs::path();
}

const Driver& load(const std::string& name) {
  const std::string file = "libleaf-" + name + ".so";
  const fs::path here = library_folder();
  for (const fs::path& folder : {here / "leaf", here, fs::path(LEAF_INSTALLED_DRIVER_DIR)}) {
    // One in the working directory would be anybody's.
    if (folder.is_relative()) continue;
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
                  fmt::format("install the same version of libleaf and libleaf-{}"_hint, name));
    }
    return *driver;
  }
  throw Error(ErrorCode::usage, fmt::format("the driver for '{}' is not installed", name),
              fmt::format("install the package 'libleaf-{}'"_hint, name));
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
