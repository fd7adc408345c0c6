#include "host/state_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::host {

namespace {

Error cannot(const Folder& folder, const std::string& file, const char* what) {
  return {
      ErrorCode::failed,
      fmt::format("buffer file '{}/{}' cannot be {}: {}", folder.path(), file, what, std::strerror(errno)),
      is_shortage(errno) ? shortage_hint(errno)
      : errno == ENOSPC || errno == EDQUOT
          ? advice("make room there, or go without{}"_hint, Remedy{Remedy::Kind::do_without_host})
      : errno == EROFS ? advice("mount its file system for writing, or name another folder{}"_hint,
                                Remedy{Remedy::Kind::choose_host_folder})
      : errno == EFBIG ? "allow this process larger files: 'ulimit -f unlimited'"_hint
                       : ""};
}

/// Opens a file that lies in `folder`; none if there is no such file.
Descriptor open_trusted(const Folder& folder, const std::string& name) {
  for (;;) {
    Descriptor file(openat(folder.descriptor(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file && errno == ENOENT) return file;
    const auto refused = [&](const std::string& why, const Advice& advice) {
      return Error(ErrorCode::refused, fmt::format("buffer file '{}/{}' {}", folder.path(), name, why),
                   advice);
    };
    const auto refuse = [&](const std::string& why) {
      return refused(why, "somebody else has put it there; remove it"_hint);
    };
    if (!file && errno == ELOOP) throw refuse("is a symbolic link");
    if (!file && errno == EISDIR) throw refuse("is a folder");
    if (!file && errno == ENXIO) throw refuse("is no regular file");  // a socket
    if (!file && errno == EACCES) {
      if (faccessat(folder.descriptor(), name.c_str(), F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
        throw refuse("is closed to this user");
      throw Error(
          ErrorCode::refused,
          fmt::format("folder '{}' is closed to the user that this process has become", folder.path()),
          "open the store after rights are given up, with a folder of that user's"_hint);
    }
    if (!file) throw cannot(folder, name, "opened");
    struct stat status {};
    if (fstat(file.get(), &status) != 0) throw cannot(folder, name, "looked at");
    if (!S_ISREG(status.st_mode)) throw refuse("is no regular file");
    if (!folder.trusts_owner_of(status)) throw refuse("belongs to another user");
    if (const mode_t mode = status.st_mode & 07777; mode != folder.file_mode()) {
      // To remove it would lose what it says of this host.
      throw refused(fmt::format("has mode {:o}, not {:o}", mode, folder.file_mode()),
                    fmt::format("if nobody else has written in it, 'chmod {:o} {}' fixes it"_hint,
                                folder.file_mode(), leaf::detail::shell_word(folder.path() + '/' + name)));
    }
    if (status.st_nlink > 1) throw refuse("has other names too");
    if (status.st_nlink == 1) return file;
    // It was thrown away at this moment.
  }
}

bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// True if `descriptor` is what the name leads to.
bool has_name(const Folder& folder, const std::string& name, int descriptor) {
  struct stat own {};
  struct stat named {};
  return fstat(descriptor, &own) == 0 && own.st_nlink == 1 &&
         fstatat(folder.descriptor(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same_file(own, named);
}

/// None if another removes a file of the folder now: the second one to do so would remove what is new.
Descriptor turn_to_remove(const Folder& folder) {
  Descriptor whole(openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return whole && flock(whole.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(whole) : Descriptor();
}

}  // namespace

std::shared_ptr<StateFile> StateFile::map(std::string name, Descriptor descriptor) {
  void* const memory = mmap(nullptr, state_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::failed, fmt::format("a buffer file cannot be mapped: {}", std::strerror(errno)));
  }
  return std::shared_ptr<StateFile>(new StateFile(std::move(name), std::move(descriptor), memory));
}

StateFile::StateFile(std::string name, Descriptor descriptor, void* memory)
    : name_(std::move(name)),
      descriptor_(std::move(descriptor)),
      state_(static_cast<SharedState*>(memory), [](SharedState* state) { munmap(state, state_size); }) {}

bool StateFile::counts(const std::string& boot) const {
  const auto birth = birth_of(descriptor_.get());
  return birth && birth->has_space && is_of(state_->header, *birth, boot);
}

bool StateFile::is_intact() const {
  const SharedState& state = *state_;
  if (!state.buffer.is_intact()) return false;
  return state.buffer.published_end() == 0 ||
         state.origin_checksum.load(std::memory_order_relaxed) == checksum_of_origin(state.origin.get());
}

/// Whether it counts or not; null if there is none of that size that has its space.
std::shared_ptr<StateFile> StateFile::map_any(const Folder& folder, const std::string& file_name) {
  Descriptor descriptor = open_trusted(folder, file_name);
  struct stat status {};
  if (!descriptor || fstat(descriptor.get(), &status) != 0 || status.st_size != state_size ||
      status.st_blocks == 0)
    return nullptr;
  return map(file_name, std::move(descriptor));
}

std::shared_ptr<StateFile> StateFile::find_any(const Folder& folder, const std::string& file_name) {
  auto file = map_any(folder, file_name);
  return file && file->counts(boot_id()) ? file : nullptr;
}

std::shared_ptr<StateFile> StateFile::find(const Folder& folder, const std::string& file_name) {
  auto file = find_any(folder, file_name);
  return file && file->is_intact() ? file : nullptr;
}

std::optional<Error> StateFile::why_lost(const Folder& folder, const std::string& file_name) {
  try {
    Descriptor descriptor = open_trusted(folder, file_name);
    if (!descriptor) return std::nullopt;
    struct stat status {};
    if (fstat(descriptor.get(), &status) != 0) throw cannot(folder, file_name, "looked at");
    if (status.st_size == state_size) {
      const auto file = map(file_name, std::move(descriptor));
      if (file->counts(boot_id()) && file->is_intact()) return std::nullopt;
      const FileHeader& header = file->state().header;
      if (is_undamaged(header) && text_of(header.boot) != boot_id()) return std::nullopt;
    }
    return Error(
        ErrorCode::failed,
        fmt::format("file '{}/{}' is damaged, or a copy, and is ignored", folder.path(), file_name),
        advice("look again{}, and remove it if it is still named"_hint, Remedy{Remedy::Kind::check_store}));
  } catch (const Error& error) {
    return error;
  }
}

std::shared_ptr<StateFile> StateFile::look(const Folder& folder, const std::string& file_name) {
  Descriptor descriptor(
      openat(folder.descriptor(), file_name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!descriptor || fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != state_size)
    return nullptr;
  // Its owner may truncate the file at any moment, which a mapping of it would not survive.
  void* const memory = mmap(nullptr, state_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw cannot(folder, file_name, "read");
  const int number = descriptor.get();
  const std::shared_ptr<StateFile> file(new StateFile(file_name, std::move(descriptor), memory));
  const bool is_whole = pread(number, memory, state_size, 0) == static_cast<ssize_t>(state_size);
  return is_whole && file->counts(boot_id()) ? file : nullptr;
}

std::shared_ptr<StateFile> StateFile::find(const Folder& folder, const FileKey& key) {
  auto file = find(folder, key.file_name());
  return file && is_for(file->state().header, key) ? file : nullptr;
}

std::shared_ptr<StateFile> StateFile::open(const Folder& folder, const FileKey& key) {
  return open(folder, key, [](StateFile&) { return true; });
}

std::shared_ptr<StateFile> StateFile::open(const Folder& folder, const FileKey& key,
                                           const std::function<bool(StateFile&)>& may_replace) {
  for (;;) {
    if (auto file = find(folder, key)) return file;
    if (!throw_away_foreign(folder, key, may_replace)) return nullptr;
    if (auto file = make(folder, key)) return file;
  }
}

/// Takes the name from a file that is not of `key`; false if it is to stay. Whoever holds its lock is about
/// to do the same.
bool StateFile::throw_away_foreign(const Folder& folder, const FileKey& key,
                                   const std::function<bool(StateFile&)>& may_replace) {
  const std::string name = key.file_name();
  const Descriptor file = open_trusted(folder, name);
  if (!file) return true;
  const bool is_locked = lock_file(file.get());
  if (find(folder, key)) return true;  // another process has put it there meanwhile
  if (!is_locked) {
    throw Error(ErrorCode::unavailable,
                fmt::format("buffer file '{}/{}' is stale, and its lock is held", folder.path(), name),
                "try again"_hint);
  }
  const auto foreign = map_any(folder, name);
  if (foreign && foreign->counts(boot_id()) && !may_replace(*foreign)) {
    unlock_file(file.get());
    return false;
  }
  // Whoever takes a buffer from its holder needs no lock of it.
  const bool may_be_taken = key.kind == FileKind::tag || key.kind == FileKind::worker;
  const NoFork no_fork;
  const Descriptor turn = may_be_taken ? turn_to_remove(folder) : Descriptor();
  if (may_be_taken && !turn) {
    throw Error(
        ErrorCode::unavailable,
        fmt::format("buffer file '{}/{}' is stale, and another process is removing one", folder.path(), name),
        "try again"_hint);
  }
  if (!has_name(folder, name, file.get())) return true;
  if (foreign) foreign->state().buffer.close();  // who has mapped one that is damaged gets no more of it
  if (unlinkat(folder.descriptor(), name.c_str(), 0) != 0) throw cannot(folder, name, "removed");
  return true;
}

int StateFile::make_nameless(const Folder& folder, Descriptor& made) {
  made = Descriptor(openat(folder.descriptor(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, folder.file_mode()));
  if (!made || fchmod(made.get(), folder.file_mode()) != 0) return errno;
  // Without it a full file system would show at the first write into the mapping, by a SIGBUS.
  return posix_fallocate(made.get(), 0, state_size);
}

int StateFile::why_none_can_be_made(const Folder& folder) {
  Descriptor made;
  return make_nameless(folder, made);
}

/// The new file has no name until it is complete. Null if another was faster.
std::shared_ptr<StateFile> StateFile::make(const Folder& folder, const FileKey& key) {
  const std::string name = key.file_name();
  Descriptor descriptor;
  if (const int error = make_nameless(folder, descriptor); error != 0) {
    errno = error;
    throw cannot(folder, name, "made");
  }
  const auto birth = birth_of(descriptor.get());
  if (!birth) throw cannot(folder, name, "looked at");
  const std::string own_path = fmt::format("/proc/self/fd/{}", descriptor.get());
  auto file = map(name, std::move(descriptor));
  new (file->state_.get()) SharedState{.header = header_of(key, *birth, boot_id())};
  if (linkat(AT_FDCWD, own_path.c_str(), folder.descriptor(), name.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return file;
  if (errno != EEXIST) throw cannot(folder, name, "made");
  return nullptr;
}

void StateFile::require_known_boot() {
  static_cast<void>(boot_id());
}

bool StateFile::is_whole() const {
  struct stat status {};
  return fstat(descriptor_.get(), &status) == 0 && status.st_size == state_size;
}

bool StateFile::is_current(const Folder& folder) const {
  return is_whole() && has_name(folder, name_, descriptor_.get());
}

std::optional<FetchLock> StateFile::try_lock(const Folder& folder) const {
  // A lock belongs to what one open() made; the mapping's descriptor is used by all threads.
  int error = 0;
  auto held = FetchLock::take(folder.descriptor(), name_, error);
  if (is_shortage(error)) {
    errno = error;
    throw cannot(folder, name_, "opened");
  }
  return held && is_current(folder) && held->is_of(descriptor_) ? std::move(held) : std::nullopt;
}

std::string StateFile::name() const {
  return text_of(state_->header.name);
}

std::string StateFile::shown_store() const {
  return text_of(state_->header.shown_store);
}

StoreIdentity StateFile::identity() const {
  return identity_of(state_->header);
}

namespace {

/// What a file is called from when it is taken from its holder until it is closed.
std::string taken_name(const std::string& name) {
  return name + ".taken";
}

/// Closes the buffer, and tells where its takers had come, if anybody ever drew from it. That is noted first,
/// should this process die before anybody is told.
void close(SharedState& state, const NoteEnd& note_end) {
  for (;;) {
    const range::DoubleBuffer::View seen = state.buffer.view();
    const std::int64_t end = range::DoubleBuffer::end_of_taken(seen);
    std::int64_t known = state.end_of_taken.load(std::memory_order_acquire);
    while (known < end && !state.end_of_taken.compare_exchange_weak(known, end)) continue;
    if (!state.buffer.close(seen)) continue;
    const std::int64_t reached = std::max(known, end);
    const bool is_damaged = reached > state.buffer.published_end();
    if (reached != 0 && !is_damaged) note_end(reached);
    return;
  }
}

}  // namespace

bool StateFile::take_from_holder(const Folder& folder, const NoteEnd& note_end) {
  const NoFork no_fork;
  const Descriptor turn = turn_to_remove(folder);
  if (!turn || !is_current(folder)) return false;
  const std::string taken = taken_name(name_);
  // One that was left there loses its name to this one.
  if (const auto before = find_any(folder, taken)) close(*before->state_, note_end);
  // Closed before, since others may go on with another file at once. And after, since who fetches makes sure
  // that the file has its name once it has its turn: until then others find it, should this process die.
  close(*state_, note_end);
  renameat(folder.descriptor(), name_.c_str(), folder.descriptor(), taken.c_str());
  close(*state_, note_end);
  unlinkat(folder.descriptor(), taken.c_str(), 0);
  return true;
}

void StateFile::finish_taking(const Folder& folder, const NoteEnd& note_end) const {
  const auto taken = find_any(folder, taken_name(name_));
  if (!taken) return;
  close(*taken->state_, note_end);
  const NoFork no_fork;
  if (const Descriptor turn = turn_to_remove(folder); turn && taken->is_current(folder))
    unlinkat(folder.descriptor(), taken->name_.c_str(), 0);
}

bool StateFile::throw_away(const Folder& folder, const FetchLock&) const {
  const NoFork no_fork;
  const Descriptor turn = turn_to_remove(folder);
  if (!turn || !is_current(folder)) return false;
  unlinkat(folder.descriptor(), name_.c_str(), 0);
  return true;
}

std::vector<std::string> state_files(const Folder& folder, std::initializer_list<FileKind> kinds) {
  std::vector<std::string> names;
  const int descriptor = openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (listing == nullptr) throw cannot(folder, ".", "listed");
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (std::ranges::any_of(kinds, [&](FileKind kind) { return is_file_name(name, kind); }))
      names.push_back(name);
  }
  closedir(listing);
  std::ranges::sort(names);
  return names;
}

}  // namespace leaf::host
