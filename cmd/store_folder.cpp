#include "store_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "leaf/error.hpp"

namespace leafctl {

void create_default_store_folder(const Configuration& configuration) {
  for (const SettingOrigin& setting : configuration.origins) {
    if (std::string_view(setting.setting->key) == "store" && setting.origin != "default") return;
  }
  const std::string path = configuration.settings.store.substr(std::string_view("sqlite:").size());
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      throw leaf::Error(leaf::ErrorCode::failed,
                        fmt::format("cannot create folder '{}': {}", folder, std::strerror(errno)));
    }
  }
}

}  // namespace leafctl
