#include "store/module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "leaf/detail/module.hpp"
#include "leaf/error.hpp"
#include "text/shortage.hpp"

namespace leaf::store {

namespace {

namespace fs = std::filesystem;

/// What the kernel calls the file that `address` was mapped from: never relative, whatever folder the loader
/// was in when it found it.
fs::path mapped_file(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  maps.exceptions(std::ios::badbit);  // else a lack of memory ends what it reads
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
  // By what is not exported: a program may have loaded two copies of this library.
  const auto* const own = reinterpret_cast<const void*>(&mapped_file);
  Dl_info info{};
  if (dladdr(own, &info) == 0) return {};
  fs::path file = info.dli_fname;
  if (file.is_relative()) file = mapped_file(reinterpret_cast<std::uintptr_t>(own));
  std::error_code ignored;
  return file.is_absolute() ? fs::canonical(file, ignored).parent_path() : fs::path();
}

/// Whether the loader ran out of memory. It reports a failed mapping in the same words where the file system
/// is mounted noexec.
bool is_lack_of_memory(const std::string& text, const fs::path& file) {
  struct statvfs system {};
  return text.ends_with("out of memory") ||
         (text.ends_with("failed to map segment from shared object") && statvfs(file.c_str(), &system) == 0 &&
          (system.f_flag & ST_NOEXEC) == 0);
}

}  // namespace

const void* Module::symbol(const char* name) const {
  return dlsym(handle, name);
}

std::optional<Module> load_module(const std::string& name, const std::string& what) {
  const std::string file = "libleaf-" + name + ".so";
  const fs::path here = library_folder();
  for (const fs::path& folder : {here / "leaf", here, fs::path(LEAF_INSTALLED_DRIVER_DIR)}) {
    // One in the working directory would be anybody's.
    if (folder.is_relative()) continue;
    std::error_code ignored;
    if (!fs::exists(folder / file, ignored)) continue;
    void* const module = dlopen((folder / file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      const std::string text = fmt::format("{} cannot be loaded: {}", what, dlerror());
      // The loader has an errno of its own, and tells of it in words alone.
      for (const int shortage : {EMFILE, ENFILE, ENOMEM}) {
        if (text.ends_with(std::strerror(shortage)))
          throw Error(ErrorCode::unavailable, text, shortage_hint(shortage));
      }
      if (is_lack_of_memory(text, folder / file))
        throw Error(ErrorCode::unavailable, text, shortage_hint(ENOMEM));
      throw Error(ErrorCode::usage, text);
    }
    return Module{module, (folder / file).string()};
  }
  return std::nullopt;
}

}  // namespace leaf::store

const void* leaf::detail::module_symbol(const std::string& name, const std::string& what,
                                        const char* symbol) {
  const auto module = store::load_module(name, what);
  return module ? module->symbol(symbol) : nullptr;
}
