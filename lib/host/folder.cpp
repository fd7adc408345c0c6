#include "host/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf {

namespace host {

namespace {

constexpr mode_t private_mode = 0700;
constexpr mode_t shared_mode = 02770;

Advice other_folder() {
  return advice("name another one{}, or go without{}"_hint, Remedy{Remedy::Kind::choose_host_folder},
                Remedy{Remedy::Kind::do_without_host});
}

/// A disk may forget what was drawn, and nobody could tell: where it was not written back, after an error or
/// before the file system is mounted again, a file is what it was before.
bool is_in_memory(const struct statfs& system) {
  const auto type = static_cast<unsigned long>(system.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

Error cannot(const std::string& what, const std::string& path) {
  const int error = errno;
  const std::string text = fmt::format("folder '{}' cannot be {}: {}", path, what, std::strerror(error));
  if (is_shortage(error)) return {ErrorCode::failed, text, shortage_hint(error)};
  if (error == ENOSPC || error == EDQUOT) {
    return {ErrorCode::failed, text,
            advice("make room there, or go without{}"_hint, Remedy{Remedy::Kind::do_without_host})};
  }
  return {ErrorCode::usage, text, other_folder()};
}

/// Makes the folder under another name, which is returned, and with all its rights.
std::string make_draft(const HostOptions& options) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) throw cannot("made", options.folder);
  std::string draft = fmt::format("{}.{:016x}", options.folder, random);
  if (mkdir(draft.c_str(), private_mode) != 0) throw cannot("made", options.folder);
  if (chmod(draft.c_str(), options.group ? shared_mode : private_mode) == 0) return draft;
  const int error = errno;
  rmdir(draft.c_str());
  errno = error;
  throw cannot("made", options.folder);
}

/// Whoever finds the folder finds it finished. Returns whether it was made here, and not by others meanwhile.
bool make(const HostOptions& options) {
  const std::string draft = make_draft(options);
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, options.folder.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  const int error = errno;
  rmdir(draft.c_str());
  errno = error;
  if (error != EEXIST) throw cannot("made", options.folder);
  return false;
}

Descriptor open_folder(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// A link may lead to a folder that somebody else exchanges.
Error not_opened(const std::string& path) {
  const Error error = cannot("opened", path);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return error;
  return {ErrorCode::refused, fmt::format("folder '{}' is a symbolic link", path), other_folder()};
}

/// Whether all that lies in it is what a host keeps there: of another folder the mode is not ours to change.
bool holds_buffers_alone(const std::string& path) {
  constexpr std::array<std::string_view, 4> kinds{"tag-", "worker-", "mark-", "store-"};
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(path, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (std::ranges::none_of(kinds, [&](std::string_view kind) { return name.starts_with(kind); }))
      return false;
  }
  return !failed;
}

bool is_member_of(gid_t group) {
  if (group == getegid()) return true;
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  groups.resize(static_cast<std::size_t>(std::max(getgroups(count, groups.data()), 0)));
  return std::ranges::find(groups, group) != groups.end();
}

/// Whoever goes elsewhere does not know what all others were granted.
void require_not_shared(const std::string& path, const struct stat& folder) {
  const bool is_shared = (folder.st_mode & 07777) == shared_mode;
  if (!is_shared || (folder.st_uid != geteuid() && !is_member_of(folder.st_gid))) return;
  throw Error(ErrorCode::refused, fmt::format("folder '{}' is shared with a group", path),
              advice("share it{}"_hint, Remedy{Remedy::Kind::share_host}));
}

/// Throws Error for a folder of this mode, where another one is wanted.
[[noreturn]] void refuse_mode(const std::string& path, mode_t mode, mode_t wanted) {
  throw Error(ErrorCode::refused,
              fmt::format("runtime folder '{}' has mode {:04o}, not {:04o}", path, mode, wanted),
              // Of four digits chmod leaves a folder its set-group-ID bit.
              holds_buffers_alone(path)
                  ? fmt::format("if nobody else has written in it, 'chmod {:05o} {}' fixes it"_hint, wanted,
                                leaf::detail::shell_word(path))
                  : other_folder());
}

}  // namespace

Folder Folder::open(const HostOptions& options) {
  Descriptor descriptor = open_folder(options.folder);
  bool is_new = false;
  if (!descriptor && errno == ENOENT) {
    is_new = make(options);
    descriptor = open_folder(options.folder);
  }
  if (!descriptor) throw not_opened(options.folder);
  try {
    return {options, std::move(descriptor)};
  } catch (const Error&) {
    if (is_new) rmdir(options.folder.c_str());  // on a disk, where it is of no use
    throw;
  }
}

void Folder::try_to_make(const HostOptions& options, const std::function<void(const Folder&)>& look) {
  struct Draft {
    ~Draft() { rmdir(path.c_str()); }
    const std::string path;
  };
  const Draft draft{make_draft(options)};
  Descriptor descriptor = open_folder(draft.path);
  if (!descriptor) throw not_opened(options.folder);
  look(Folder(options, std::move(descriptor)));
}

std::optional<Folder> Folder::find(const HostOptions& options) {
  Descriptor descriptor = open_folder(options.folder);
  if (!descriptor && errno == ENOENT) return std::nullopt;
  if (!descriptor) throw not_opened(options.folder);
  return Folder(options, std::move(descriptor));
}

Folder Folder::look(const std::string& path) {
  Descriptor descriptor = open_folder(path);
  if (!descriptor) throw not_opened(path);
  return {path, std::move(descriptor)};
}

Folder::Folder(std::string path, Descriptor descriptor)
    : path_(std::move(path)), group_(false), descriptor_(std::move(descriptor)) {}

Folder::Folder(const HostOptions& options, Descriptor descriptor)
    : path_(options.folder), group_(options.group), descriptor_(std::move(descriptor)) {
  struct stat folder {};
  struct statfs system {};
  if (fstat(descriptor_.get(), &folder) != 0 || fstatfs(descriptor_.get(), &system) != 0)
    throw cannot("looked at", path_);
  if (!is_in_memory(system)) {
    throw Error(ErrorCode::usage, fmt::format("folder '{}' is not on a file system in memory (tmpfs)", path_),
                other_folder());
  }
  gid_ = folder.st_gid;
  const mode_t wanted = group_ ? shared_mode : private_mode;
  if (!group_) require_not_shared(path_, folder);
  // Root would be kept from it by nothing else.
  if (group_ && folder.st_uid != geteuid() && !is_member_of(folder.st_gid)) {
    throw Error(
        ErrorCode::refused,
        fmt::format("folder '{}' belongs to another user, and to a group that this user is not in", path_),
        advice("run this as a member of the group; or name another folder{}, or go without{}"_hint,
               Remedy{Remedy::Kind::choose_host_folder}, Remedy{Remedy::Kind::do_without_host}));
  }
  if (!trusts_owner_of(folder)) {
    throw Error(ErrorCode::refused, fmt::format("folder '{}' belongs to another user", path_),
                other_folder());
  }
  if ((folder.st_mode & 07777) != wanted) refuse_mode(path_, folder.st_mode & 07777, wanted);
}

bool Folder::is_current() const {
  struct stat own {};
  struct stat named {};
  return fstat(descriptor_.get(), &own) == 0 && lstat(path_.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino && own.st_nlink > 0;
}

HostOptions with_absolute_folder(HostOptions options) {
  if (options.folder.empty()) throw Error(ErrorCode::usage, "no folder is named for the host's buffer");
  if (!options.folder.starts_with('/')) options.folder = std::filesystem::absolute(options.folder).string();
  while (options.folder.ends_with('/') && options.folder.size() > 1) options.folder.pop_back();
  return options;
}

CurrentFolder::CurrentFolder(HostOptions options)
    : options_(with_absolute_folder(std::move(options))),
      folder_(std::make_shared<const Folder>(Folder::open(options_))) {}

std::shared_ptr<const Folder> CurrentFolder::get() {
  const std::lock_guard lock(mutex_);
  if (!folder_->is_current()) folder_ = std::make_shared<const Folder>(Folder::open(options_));
  return folder_;
}

bool Folder::trusts_owner_of(const struct stat& file) const noexcept {
  return group_ ? file.st_gid == gid_ : file.st_uid == geteuid();
}

}  // namespace host

bool is_file_system_in_memory(const std::string& path) {
  struct statfs system {};
  return statfs(path.c_str(), &system) == 0 && host::is_in_memory(system);
}

}  // namespace leaf
