#include "config/folders.hpp"

#include <sys/stat.h>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace config {

std::optional<std::string> xdg_folder(const Environment& environment, const char* variable,
                                      const char* in_home) {
  if (auto folder = environment.variable(variable); folder && folder->front() == '/') return folder;
  if (auto home = environment.variable("HOME"); home && home->front() == '/') return *home + in_home;
  return std::nullopt;
}

/// Any user may make folders in /dev/shm: where another one has made ours, there is none, and each call asks
/// the store.
std::string default_runtime_dir(const Environment& environment) {
  const std::string usual = usual_runtime_dir(environment);
  return usual.starts_with("/dev/shm/") && belongs_to_another(usual, environment) ? "" : usual;
}

}  // namespace config

bool belongs_to_another(const std::string& folder, const Environment& environment) {
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 &&
         (!S_ISDIR(status.st_mode) || std::to_string(status.st_uid) != environment.user_id);
}

/// The same from a login or a timer: not in XDG_RUNTIME_DIR, which only some processes have.
std::string usual_runtime_dir(const Environment& environment) {
  const std::string& run = environment.run_folder;
  if (environment.is_root && environment.is_in_memory(run)) return run + "/leafctl";
  // Made for this user by root, as by systemd-tmpfiles: nobody else can have taken its name.
  const std::string given = run + "/leafctl-" + environment.user_id;
  struct stat status {};
  if (lstat(given.c_str(), &status) == 0 && !belongs_to_another(given, environment) &&
      environment.is_in_memory(run))
    return given;
  return environment.is_in_memory("/dev/shm") ? "/dev/shm/leafctl-" + environment.user_id : "";
}

std::string default_store_folder(const Environment& environment) {
  if (environment.is_root) return "/var/lib/leafctl";
  if (const auto folder = config::xdg_folder(environment, "XDG_STATE_HOME", "/.local/state"))
    return *folder + "/leafctl";
  throw Error(ErrorCode::usage, "there is no store: none is configured, and 'HOME' is not set",
              "name one in 'LEAFCTL_STORE'"_hint);
}

}  // namespace leaf
