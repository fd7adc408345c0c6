#include "settings/store_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr std::string_view sqlite = "sqlite:";

constexpr const char* sharing = "share with the group of its folder";
constexpr const char* owner_hint = "have the owner of that file run 'leafctl init-db --group'"_hint;
constexpr const char* remove_hint = "remove it if somebody else has put it there"_hint;

leaf::Error failure(const char* what, const std::string& path, const char* hint = "") {
  return {leaf::ErrorCode::failed, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)), hint};
}

/// A journal is made by whoever writes first, and the next one has to write it too: the folder's group must
/// be that of all that is made in it.
void require_shared_folder(const std::string& folder, const struct stat& status) {
  constexpr mode_t needed = S_ISGID | S_IRWXG;
  if ((status.st_mode & needed) == needed) return;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("the group of folder '{}' cannot use a store in it", folder),
                    fmt::format("'chmod g+rwxs {}' lets it; whoever is in the group is trusted"_hint,
                                leaf::detail::shell_word(folder)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return number_; }

 private:
  int number_;
};

leaf::Error link_refused(const std::string& path, const char* hint) {
  return {leaf::ErrorCode::refused, fmt::format("'{}' is a link, or not a file", path), hint};
}

bool is_only_name(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_nlink == 1;
}

/// Others who may write to the folder may have put a link there, to a file that is not theirs.
void require_no_link(const std::string& path, const char* hint) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !is_only_name(status)) throw link_refused(path, hint);
}

/// Gives an open file to the group. Who may not change it need not where it is as it should be.
bool give(int descriptor, const struct stat& status, gid_t group) {
  constexpr mode_t wanted = 0660;
  const bool is_given = status.st_gid == group && (status.st_mode & 07777) == wanted;
  // Root too changes only what is its own: the file may have been moved there.
  if (!is_given && status.st_uid != geteuid()) {
    errno = EPERM;
    return false;
  }
  return (status.st_gid == group || fchown(descriptor, static_cast<uid_t>(-1), group) == 0) &&
         ((status.st_mode & 07777) == wanted || fchmod(descriptor, wanted) == 0);
}

bool holds(int descriptor, off_t offset, std::string_view bytes) {
  std::string found(bytes.size(), '\0');
  return pread(descriptor, found.data(), found.size(), offset) == static_cast<ssize_t>(found.size()) &&
         found == bytes;
}

// https://www.sqlite.org/fileformat2.html
bool is_store(int descriptor) {
  using namespace std::string_view_literals;
  constexpr off_t application_id = 68;
  return holds(descriptor, 0, "SQLite format 3\0"sv) && holds(descriptor, application_id, "LEAF");
}

bool is_journal(int descriptor) {
  struct stat status {};
  return (fstat(descriptor, &status) == 0 && status.st_size == 0) ||
         holds(descriptor, 0, "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7");
}

/// Gives to the group what lies under `path`, if anything does. All is asked of the open file: its name may
/// meanwhile be another one's, or a link.
void share(const std::string& path, gid_t group, bool (*is_ours)(int)) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return;
  if (file.get() < 0 && errno == ELOOP) throw link_refused(path, remove_hint);
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw failure(sharing, path);
  if (!is_only_name(status) || !is_ours(file.get())) throw link_refused(path, remove_hint);
  if (!give(file.get(), status, group))
    throw failure(sharing, path, status.st_uid == geteuid() ? "" : owner_hint);
}

/// Where a store lies, and whose it is to be.
struct SharedPlace {
  std::string file;
  gid_t group = 0;
};

/// None if the store says why.
std::optional<SharedPlace> shared_place(const Settings& settings) {
  if (!settings.group || !settings.store.starts_with(sqlite)) return std::nullopt;
  std::error_code unknown;
  const auto path = std::filesystem::absolute(settings.store.substr(sqlite.size()));
  // '..' after a link is not taken off as text.
  const auto folder = std::filesystem::canonical(path.parent_path(), unknown);
  struct stat status {};
  if (unknown || !path.has_filename() || stat(folder.c_str(), &status) != 0) return std::nullopt;
  require_shared_folder(folder.string(), status);
  return SharedPlace{(folder / path.filename()).string(), status.st_gid};
}

}  // namespace

void create_default_store_folder(const Configuration& configuration) {
  for (const SettingOrigin& setting : configuration.origins) {
    if (std::string_view(setting.setting->key) == "store" && setting.origin != "default") return;
  }
  const bool group = configuration.settings.group;
  const std::string path = configuration.settings.store.substr(sqlite.size());
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) == 0) {
      const bool is_last = path.find('/', slash + 1) == std::string::npos;
      if (!group) continue;
      const Descriptor made(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (made.get() < 0 || fchmod(made.get(), is_last ? 02770 : 0710) != 0)
        throw failure("share folder", folder);
    } else if (errno != EEXIST) {
      throw failure("create folder", folder, "name another store with --store"_hint);
    }
  }
}

void prepare_shared_store(const Settings& settings) {
  const auto place = shared_place(settings);
  if (!place) return;
  require_no_link(place->file,
                  "name the file that it leads to; remove the link if somebody else has put it there"_hint);
  require_no_link(place->file + "-journal", remove_hint);
  // Made before SQLite does: the mode of the file is that of its journals.
  const Descriptor made(open(place->file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  struct stat status {};
  if (made.get() >= 0 && (fstat(made.get(), &status) != 0 || !give(made.get(), status, place->group)))
    throw failure(sharing, place->file);
}

void share_store(const Settings& settings) {
  const auto place = shared_place(settings);
  if (!place) return;
  share(place->file, place->group, &is_store);
  share(place->file + "-journal", place->group, &is_journal);
}

}  // namespace leafctl
