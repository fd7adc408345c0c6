/// What the library asks of the system, for the processes of a simulated host: files, their locks and
/// mappings, threads, mutexes, random numbers. The linker leads the library's calls here (--wrap); each is a
/// point where another thread may run. Outside of a history they are the system's own.

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include "host/shared_state.hpp"
#include "simulation/arena.hpp"
#include "simulation/point.hpp"
#include "simulation/world.hpp"

// Where the linker puts what is static.
extern char __data_start;
extern char _end;

namespace leaf::simulation {

namespace {

constexpr std::size_t page = 4096;

/// A thread has touched what was cut: its process ends here, and nothing of it is looked at again.
void die_of_cut_file(int, siginfo_t* about, void*) {
  const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(about->si_addr) - files_begin);
  if (at >= files_room || !Scheduler::in_thread()) {
    std::signal(SIGSEGV, SIG_DFL);
    return;
  }
  Scheduler& scheduler = Scheduler::the();
  scheduler.on_escape(scheduler.process(), "it touches a file that was cut, and was told so");
  kill(scheduler.process());
  scheduler.preempt();
}
[[maybe_unused]] const bool is_handled = [] {
  struct sigaction action {};
  action.sa_sigaction = die_of_cut_file;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return sigaction(SIGSEGV, &action, nullptr) == 0;
}();

std::byte* reserve_files() {
  void* const memory =
      mmap(nullptr, files_room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace

std::byte* const files_begin = reserve_files();
bool has_written = false;

Kernel* Kernel::the_ = nullptr;

Kernel::Kernel(Log& told) : log(told) {
  the_ = this;
}
Kernel::~Kernel() {
  for (std::byte* const memory : cut_) mprotect(memory, page, PROT_READ | PROT_WRITE);
  the_ = nullptr;
}

void Kernel::cut(std::byte* memory) {
  if (mprotect(memory, page, PROT_NONE) != 0) std::abort();
  cut_.push_back(memory);
}

std::byte* Kernel::allot(std::size_t size) {
  std::byte* const memory = files_begin + allotted_;
  allotted_ += (size + page - 1) / page * page;
  if (allotted_ > files_room) std::abort();  // no history makes so many
  std::fill_n(memory, size, std::byte{0});
  return memory;
}

namespace {

/// How often the calling process maps the file that lies there.
std::uint32_t& mappings_of(const void* place) {
  const auto number = static_cast<std::size_t>(static_cast<const std::byte*>(place) - files_begin) / page;
  std::vector<std::uint32_t>& mapped = Scheduler::the().process().mapped;
  if (number >= mapped.size()) mapped.resize(number + 16);
  return mapped[number];
}

}  // namespace

bool is_mapped(const Process& process, const std::byte* memory) {
  const auto number = static_cast<std::size_t>(memory - files_begin) / page;
  return number < process.mapped.size() && process.mapped[number] > 0;
}

void require_mapped(const void* place) {
  if (Scheduler::in_thread() && mappings_of(place) == 0)
    Scheduler::the().on_wild_access(Scheduler::the().process());
}

namespace {

constexpr uid_t user = 1000;
constexpr int first_descriptor = 1 << 20;
constexpr const char* boot_file = "/proc/sys/kernel/random/boot_id";
constexpr std::string_view boot_id = "b00710ad-0000-4000-8000-000000000001\n";

int fail(int error) {
  errno = error;
  return -1;
}

Kernel& kernel() {
  return Kernel::the();
}
Process& process() {
  return Scheduler::the().process();
}
Host& host() {
  return *process().host;
}

int open_inode(std::shared_ptr<Inode> inode, bool is_own_entry = false) {
  auto& open = kernel().open;
  open.push_back(std::make_unique<OpenFile>(
      OpenFile{.process = &process(), .inode = std::move(inode), .is_own_entry = is_own_entry}));
  if (is_own_entry) ++process().folders;
  return first_descriptor + static_cast<int>(open.size()) - 1;
}

OpenFile* open_file(int descriptor) {
  auto& open = kernel().open;
  const auto index = static_cast<std::size_t>(descriptor - first_descriptor);
  if (descriptor < first_descriptor || index >= open.size() || !open[index]->inode) return nullptr;
  return open[index].get();
}

/// Of a lock, if `file` holds it.
void let_go(OpenFile*& holder, OpenFile& file) {
  if (holder != &file) return;
  holder = nullptr;
  --file.process->locks;
}

void take_hold(OpenFile*& holder, OpenFile& file) {
  if (holder == nullptr) ++file.process->locks;
  holder = &file;
}

void close_file(OpenFile& file) {
  let_go(file.inode->lock, file);
  let_go(file.inode->flock, file);
  if (file.is_own_entry) --file.process->folders;
  file.inode.reset();
}

std::shared_ptr<Inode> make_inode(bool is_folder, std::uint32_t mode) {
  auto inode = std::make_shared<Inode>();
  inode->number = ++kernel().last_inode;
  inode->born = Scheduler::the().now();
  inode->is_folder = is_folder;
  inode->mode = mode;
  return inode;
}

std::shared_ptr<Inode> found_by(const std::string& path) {
  const auto& folders = host().folders;
  const auto found = folders.find(path);
  return found == folders.end() ? nullptr : found->second;
}

void fill(const Inode& inode, struct stat& status) {
  status = {};
  status.st_dev = 1;
  status.st_ino = inode.number;
  status.st_mode = (inode.is_folder ? S_IFDIR : S_IFREG) | inode.mode;
  status.st_nlink = inode.links;
  status.st_uid = user;
  status.st_gid = user;
  status.st_size = static_cast<off_t>(inode.size);
  status.st_blocks = static_cast<blkcnt_t>(inode.size / 512);
}

Inode* inode_in(int folder, const char* name) {
  const OpenFile* const opened = open_file(folder);
  if (opened == nullptr) return nullptr;
  const auto found = opened->inode->entries.find(name);
  return found == opened->inode->entries.end() ? nullptr : found->second.get();
}

/// Who holds a mutex of the library, in the place of the system's.
Fiber*& owner_of(pthread_mutex_t* place) {
  static_assert(sizeof(Fiber*) <= sizeof(pthread_mutex_t));
  const auto* const address = reinterpret_cast<const char*>(place);
  if (address >= &__data_start && address < &_end) return Scheduler::the().process().static_mutexes[place];
  return *reinterpret_cast<Fiber**>(place);
}

bool lock(pthread_mutex_t* place, Time deadline) {
  Fiber*& owner = owner_of(place);
  point();
  while (owner != nullptr) {
    if (!Scheduler::the().wait(&owner, deadline) && Scheduler::the().now() >= deadline && owner != nullptr)
      return false;
  }
  owner = &Scheduler::the().running();
  return true;
}

/// Nobody else runs before the caller waits for something.
void release(pthread_mutex_t* place) {
  Fiber*& owner = owner_of(place);
  owner = nullptr;
  Scheduler::the().wake_one(&owner);
}
void unlock(pthread_mutex_t* place) {
  release(place);
  point();
}

Time time_of(const timespec& time) {
  return Time{time.tv_sec} * second + time.tv_nsec;
}

struct Listing {
  OpenFile* folder;
  std::vector<std::string> names;
  std::size_t next = 0;
  dirent entry{};
};

std::uint64_t random_bits() {
  return Scheduler::the().random().next();
}

}  // namespace

void kill(Process& process) {
  kernel().log.note("is gone", process.number);
  Scheduler::the().kill(process);
  for (const auto& file : kernel().open) {
    if (file->process == &process && file->inode) close_file(*file);
  }
  std::erase(process.host->processes, &process);
}

void remove_folders(Host& host) {
  host.folders_removed_at = Scheduler::the().now();
  for (auto& [path, folder] : host.folders) {
    folder->links = 0;
    for (auto& [name, file] : folder->entries) file->links = 0;
    folder->entries.clear();
  }
  host.folders.clear();
}

void reboot(Host& host) {
  while (!host.processes.empty()) kill(*host.processes.back());
  remove_folders(host);
}

void cut(Inode& file) {
  kernel().cut(file.memory);
  file.size = 0;
}

std::vector<KeptFile> keep_files(const Host& host) {
  std::vector<KeptFile> files;
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      files.push_back({.folder = path,
                       .name = name,
                       .inode = file->number,
                       .born = file->born,
                       .folder_mode = folder->mode,
                       .mode = file->mode,
                       .content = std::vector(file->memory, file->memory + file->size)});
    }
  }
  return files;
}

void put_back(Host& host, const KeptFile& kept, KeptAs as) {
  std::shared_ptr<Inode>& folder = host.folders[kept.folder];
  if (!folder) folder = make_inode(true, kept.folder_mode);
  auto file = make_inode(false, kept.mode);
  const bool is_open = std::ranges::any_of(
      kernel().open, [&](const auto& open) { return open->inode && open->inode->number == kept.inode; });
  if (!is_open) file->number = kept.inode;
  if (as == KeptAs::itself || is_open) file->born = kept.born;
  file->size = kept.content.size();
  file->memory = kernel().allot(file->size);
  std::ranges::copy(kept.content, file->memory);
  std::shared_ptr<Inode>& entry = folder->entries[kept.name];
  if (entry) entry->links = 0;
  entry = std::move(file);
}

std::chrono::system_clock::time_point HostClock::now() {
  point();
  Scheduler::the().pass(Scheduler::the().random().between(20, 200));
  return std::chrono::system_clock::time_point(std::chrono::nanoseconds(host().clock()));
}

std::chrono::steady_clock::time_point HostClock::steady_now() {
  point();
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(Scheduler::the().now()));
}

void HostClock::wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& changed,
                           std::chrono::steady_clock::time_point deadline) {
  pthread_mutex_t* const mutex = held.mutex()->native_handle();
  release(mutex);
  Scheduler::the().wait(&changed, Scheduler::the().next_wake(deadline.time_since_epoch().count()));
  lock(mutex, never);
}

void HostClock::sleep_for(std::chrono::nanoseconds duration) {
  Scheduler& scheduler = Scheduler::the();
  scheduler.sleep_until(scheduler.now() + std::max<Time>(duration.count(), 10 * microsecond));
}

std::int64_t HostClock::tick() {
  point();
  return host().clock() / host().tick * 4096 + host().clock_sets;
}

}  // namespace leaf::simulation

using namespace leaf::simulation;  // NOLINT: the functions below have the linker's names

// Files.

extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if (!Scheduler::in_thread()) return __real_open(path, flags, mode);
  point();
  if (std::string_view(path) == boot_file || std::string_view(path) == "/")
    return open_inode(make_inode(false, 0444));
  auto folder = found_by(path);
  if (!folder) return fail(ENOENT);
  return open_inode(std::move(folder));
}

int __wrap_openat(int folder, const char* name, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    point();
    auto inode = make_inode(false, mode);
    inode->links = 0;
    return open_inode(std::move(inode));
  }
  point();
  const OpenFile* const opened = open_file(folder);
  if (opened == nullptr) return fail(EBADF);
  if (std::string_view(name) == ".") return open_inode(opened->inode, /*is_own_entry=*/true);
  const auto found = opened->inode->entries.find(name);
  moment();
  if (found == opened->inode->entries.end()) return fail(ENOENT);
  return open_inode(found->second);
}

int __real_close(int descriptor);
int __wrap_close(int descriptor) {
  if (descriptor < first_descriptor) return __real_close(descriptor);
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return fail(EBADF);
  close_file(*file);
  return 0;
}

ssize_t __real_read(int descriptor, void* to, size_t size);
ssize_t __wrap_read(int descriptor, void* to, size_t size) {
  if (descriptor < first_descriptor) return __real_read(descriptor, to, size);
  const std::size_t length = std::min(size, boot_id.size());
  std::memcpy(to, boot_id.data(), length);
  return static_cast<ssize_t>(length);
}

ssize_t __wrap_pread(int descriptor, void* to, size_t size, off_t) {
  const OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return fail(EBADF);
  const std::size_t length = std::min(size, file->inode->size);
  std::memcpy(to, file->inode->memory, length);
  return static_cast<ssize_t>(length);
}

int __wrap_mkdir(const char* path, mode_t mode) {
  point();
  if (found_by(path)) return fail(EEXIST);
  host().folders.emplace(path, make_inode(true, mode));
  return 0;
}

int __wrap_rmdir(const char* path) {
  point();
  const auto folder = found_by(path);
  if (!folder) return fail(ENOENT);
  folder->links = 0;
  host().folders.erase(path);
  return 0;
}

int __wrap_chmod(const char* path, mode_t mode) {
  point();
  const auto folder = found_by(path);
  if (!folder) return fail(ENOENT);
  folder->mode = mode;
  return 0;
}

int __wrap_fchmod(int descriptor, mode_t mode) {
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return fail(EBADF);
  file->inode->mode = mode;
  return 0;
}

int __wrap_renameat2(int, const char* from, int, const char* to, unsigned flags) {
  point();
  auto folder = found_by(from);
  if (!folder) return fail(ENOENT);
  moment();
  if (const auto there = found_by(to)) {
    if ((flags & RENAME_NOREPLACE) != 0) return fail(EEXIST);
    if (!there->entries.empty()) return fail(ENOTEMPTY);
    there->links = 0;
    host().folders.erase(to);
  }
  host().folders.erase(from);
  host().folders.emplace(to, std::move(folder));
  return 0;
}

int __wrap_renameat(int folder, const char* from, int, const char* to) {
  point();
  OpenFile* const opened = open_file(folder);
  if (opened == nullptr) return fail(EBADF);
  auto& entries = opened->inode->entries;
  const auto found = entries.find(from);
  if (found == entries.end()) return fail(ENOENT);
  moment();
  if (kernel().on_removed) kernel().on_removed(*found->second, from);
  kernel().log.note("file is renamed", process().number, static_cast<std::int64_t>(found->second->number));
  if (const auto replaced = entries.find(to); replaced != entries.end()) --replaced->second->links;
  entries[to] = std::move(found->second);
  entries.erase(from);
  return 0;
}

int __wrap_linkat(int, const char* from, int folder, const char* name, int) {
  point();
  const int descriptor = std::stoi(std::string(from).substr(std::strlen("/proc/self/fd/")));
  OpenFile* const file = open_file(descriptor);
  OpenFile* const into = open_file(folder);
  if (file == nullptr || into == nullptr) return fail(EBADF);
  if (into->inode->links == 0) return fail(ENOENT);
  moment();
  if (!into->inode->entries.emplace(name, file->inode).second) return fail(EEXIST);
  ++file->inode->links;
  has_written = true;
  if (kernel().on_made) kernel().on_made(*file->inode);
  kernel().log.note("file is made", process().number, static_cast<std::int64_t>(file->inode->number));
  kernel().log.say("its name", process().number, name);
  return 0;
}

int __wrap_unlinkat(int folder, const char* name, int) {
  point();
  OpenFile* const opened = open_file(folder);
  if (opened == nullptr) return fail(EBADF);
  const auto found = opened->inode->entries.find(name);
  if (found == opened->inode->entries.end()) return fail(ENOENT);
  moment();
  if (kernel().on_removed) kernel().on_removed(*found->second, name);
  --found->second->links;
  ++kernel().removed_files;
  kernel().log.note("file is removed", process().number, static_cast<std::int64_t>(found->second->number));
  opened->inode->entries.erase(found);
  return 0;
}

int __wrap_fstat(int descriptor, struct stat* status) {
  point();
  const OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return fail(EBADF);
  fill(*file->inode, *status);
  return 0;
}

/// All hosts have the same namespaces.
int __real_stat(const char* path, struct stat* status);
int __wrap_stat(const char* path, struct stat* status) {
  if (!Scheduler::in_thread()) return __real_stat(path, status);
  point();
  fill({.number = 1}, *status);
  return 0;
}

int __real_access(const char* path, int mode);
int __wrap_access(const char* path, int mode) {
  if (!Scheduler::in_thread()) return __real_access(path, mode);
  return fail(ENOENT);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol) {
  if (!Scheduler::in_thread()) return __real_socket(domain, type, protocol);
  return fail(EAFNOSUPPORT);
}

int __wrap_lstat(const char* path, struct stat* status) {
  point();
  const auto folder = found_by(path);
  if (!folder) return fail(ENOENT);
  fill(*folder, *status);
  return 0;
}

int __wrap_fstatat(int folder, const char* name, struct stat* status, int) {
  point();
  moment();
  const Inode* const inode = inode_in(folder, name);
  if (inode == nullptr) return fail(ENOENT);
  fill(*inode, *status);
  return 0;
}

int __real_statx(int folder, const char* name, int flags, unsigned mask, struct statx* status);
int __wrap_statx(int folder, const char* name, int flags, unsigned mask, struct statx* status) {
  if (!Scheduler::in_thread()) return __real_statx(folder, name, flags, mask, status);
  point();
  if (folder == AT_FDCWD) return fail(ENOENT);
  const OpenFile* const file = open_file(folder);
  if (file == nullptr) return fail(EBADF);
  *status = {};
  status->stx_mask = mask;
  status->stx_ino = file->inode->number;
  status->stx_btime.tv_sec = file->inode->born / second;
  status->stx_btime.tv_nsec = static_cast<std::uint32_t>(file->inode->born % second);
  status->stx_blocks = file->inode->size / 512;
  return 0;
}

int __wrap_fstatfs(int, struct statfs* system) {
  *system = {};
  system->f_type = TMPFS_MAGIC;
  return 0;
}

int __wrap_statvfs(const char*, struct statvfs* room) {
  *room = {};
  room->f_bavail = 1 << 20;
  room->f_frsize = 4096;
  return 0;
}

int __wrap_posix_fallocate(int descriptor, off_t, off_t size) {
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return EBADF;
  const auto bytes = static_cast<std::size_t>(size);
  file->inode->memory = kernel().allot(bytes);
  file->inode->size = bytes;
  return 0;
}

void* __real_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset);
void* __wrap_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (!Scheduler::in_thread()) return __real_mmap(at, size, protection, flags, descriptor, offset);
  point();
  if (descriptor < 0) return new (std::align_val_t{64}) std::byte[size]();
  std::byte* const memory = open_file(descriptor)->inode->memory;
  ++mappings_of(memory);
  return memory;
}

int __real_munmap(void* at, size_t size);
int __wrap_munmap(void* at, size_t size) {
  if (!Scheduler::in_thread()) return __real_munmap(at, size);
  if (is_in_file(at)) --mappings_of(at);
  return 0;
}

int __wrap_fcntl(int descriptor, int command, ...) {
  va_list more;
  va_start(more, command);
  const struct flock* const wish = va_arg(more, struct flock*);
  va_end(more);
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr || command != F_OFD_SETLK) return fail(EBADF);
  OpenFile*& holder = file->inode->lock;
  if (wish->l_type == F_UNLCK) {
    let_go(holder, *file);
    return 0;
  }
  moment();
  if (holder != nullptr && holder != file) return fail(EAGAIN);
  take_hold(holder, *file);
  file->inode->locked_at = Scheduler::the().now();
  if (kernel().on_locked) kernel().on_locked(*file->inode);
  return 0;
}

int __wrap_flock(int descriptor, int) {
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr) return fail(EBADF);
  OpenFile*& holder = file->inode->flock;
  moment();
  if (holder != nullptr && holder != file) return fail(EWOULDBLOCK);
  take_hold(holder, *file);
  return 0;
}

DIR* __wrap_fdopendir(int descriptor) {
  point();
  OpenFile* const file = open_file(descriptor);
  if (file == nullptr) {
    errno = EBADF;
    return nullptr;
  }
  auto* const listing = new Listing{.folder = file, .names = {}};
  for (const auto& [name, inode] : file->inode->entries) listing->names.push_back(name);
  return reinterpret_cast<DIR*>(listing);
}

struct dirent* __wrap_readdir(DIR* folder) {
  auto& listing = *reinterpret_cast<Listing*>(folder);
  if (listing.next == listing.names.size()) return nullptr;
  const std::string& name = listing.names[listing.next++];
  std::memcpy(listing.entry.d_name, name.c_str(), std::min(name.size() + 1, sizeof listing.entry.d_name));
  return &listing.entry;
}

int __wrap_closedir(DIR* folder) {
  auto* const listing = reinterpret_cast<Listing*>(folder);
  close_file(*listing->folder);
  delete listing;
  return 0;
}

// Processes, threads and chance.

pid_t __real_getpid();
pid_t __wrap_getpid() {
  return Scheduler::in_thread() ? process().number : __real_getpid();
}

uid_t __wrap_geteuid() {
  return user;
}

ssize_t __real_getrandom(void* to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void* to, size_t size, unsigned flags) {
  if (!Scheduler::in_thread()) return __real_getrandom(to, size, flags);
  auto* const bytes = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(random_bits());
  return static_cast<ssize_t>(size);
}

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!Scheduler::in_thread()) return __real_pthread_mutex_lock(mutex);
  lock(mutex, never);
  return 0;
}

int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (!Scheduler::in_thread()) return __real_pthread_mutex_unlock(mutex);
  unlock(mutex);
  return 0;
}

int __real_pthread_mutex_trylock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (!Scheduler::in_thread()) return __real_pthread_mutex_trylock(mutex);
  point();
  Fiber*& owner = owner_of(mutex);
  if (owner != nullptr) return EBUSY;
  owner = &Scheduler::the().running();
  return 0;
}

int __wrap_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t, const timespec* deadline) {
  return lock(mutex, time_of(*deadline)) ? 0 : ETIMEDOUT;
}

// The parts of libstdc++ that are not inlined, by their mangled names.

std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  if (!Scheduler::in_thread()) return __real__ZNSt6chrono3_V212steady_clock3nowEv();
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(Scheduler::the().now()));
}

void __wrap__ZNSt18condition_variableC1Ev(std::condition_variable*) {}
void __wrap__ZNSt18condition_variableD1Ev(std::condition_variable*) {}
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* changed,
                                                                      std::unique_lock<std::mutex>& held) {
  pthread_mutex_t* const mutex = held.mutex()->native_handle();
  release(mutex);
  Scheduler::the().wait(changed, Scheduler::the().next_wake(never));
  lock(mutex, never);
}
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* changed) {
  point();
  Scheduler::the().wake_one(changed);
}
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* changed) {
  point();
  Scheduler::the().wake_all(changed);
}

void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread* thread, std::unique_ptr<std::thread::_State>* state, void (*)()) {
  if (host().no_threads_until > Scheduler::the().now())
    throw std::system_error(EAGAIN, std::generic_category());
  leaf::simulation::finds_no_memory = nullptr;  // what follows is the system's
  std::thread::_State* const own = state->release();
  Fiber* const fiber = &Scheduler::the().start(process(), [own] {
    own->_M_run();
    delete own;
  });
  std::memcpy(static_cast<void*>(thread), &fiber, sizeof fiber);
  point();
}
void __wrap__ZNSt6thread4joinEv(std::thread* thread) {
  Fiber* fiber = nullptr;
  std::memcpy(&fiber, static_cast<void*>(thread), sizeof fiber);
  while (!Scheduler::is_done(*fiber)) Scheduler::the().wait(fiber);
  fiber = nullptr;
  std::memcpy(static_cast<void*>(thread), &fiber, sizeof fiber);
}

void __wrap__ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    std::random_device*, const std::string&) {}
void __wrap__ZNSt13random_device7_M_finiEv(std::random_device*) {}
unsigned __wrap__ZNSt13random_device9_M_getvalEv(std::random_device*) {
  return static_cast<unsigned>(random_bits());
}

}  // extern "C"
