#include "support/recorded_disk.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace fs = std::filesystem;

namespace leaf::test {

namespace {

RecordedDisk* recording = nullptr;

/// A disk writes a sector as a whole or not at all.
constexpr std::size_t sector = 512;

void write_at(std::string& content, std::uint64_t offset, std::string_view data) {
  content.resize(std::max<std::size_t>(content.size(), offset + data.size()));
  data.copy(content.data() + offset, data.size());
}

/// What of a write has come to the disk: all, a beginning, an end, or any sectors.
void write_some(std::string& content, std::uint64_t offset, std::string_view data, std::mt19937_64& random) {
  const auto way = random() % 4;
  if (way == 0) return write_at(content, offset, data);
  const std::size_t border = random() % (data.size() / sector + 1);
  for (std::size_t i = 0; i * sector < data.size(); ++i) {
    const bool is_written = way == 1 ? i < border : way == 2 ? i >= border : random() % 2 != 0;
    if (is_written) write_at(content, offset + i * sector, data.substr(i * sector, sector));
  }
}

}  // namespace

RecordedDisk::RecordedDisk(fs::path folder, Fault fault) : folder_(std::move(folder)), fault_(fault) {
  if (recording != nullptr) throw std::logic_error("one disk is recorded at a time");
  for (const auto& entry : fs::directory_iterator(folder_)) {
    std::ifstream in(entry.path(), std::ios::binary);
    names_[entry.path().filename()] = beginning_.size();
    beginning_.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  first_names_ = names_;
  recording = this;
}

RecordedDisk::~RecordedDisk() {
  recording = nullptr;
}

bool RecordedDisk::is_inside(const std::string& path) const {
  return fs::path(path).parent_path() == folder_;
}

void RecordedDisk::opened(const std::string& path, int descriptor) {
  if (path == folder_) {
    open_[descriptor] = the_folder;
    return;
  }
  if (!is_inside(path)) return;
  const std::string name = fs::path(path).filename();
  const auto [found, is_new] = names_.emplace(name, beginning_.size());
  if (is_new) {
    beginning_.emplace_back();
    calls_.push_back({.kind = Call::Kind::name, .file = found->second, .text = name});
  }
  open_[descriptor] = found->second;
}

void RecordedDisk::written(int descriptor, std::uint64_t offset, const void* data, std::size_t size) {
  const auto file = open_.find(descriptor);
  if (file == open_.end()) return;
  calls_.push_back({.kind = Call::Kind::write,
                    .file = file->second,
                    .offset = offset,
                    .text = std::string(static_cast<const char*>(data), size)});
}

void RecordedDisk::truncated(int descriptor, std::uint64_t size) {
  const auto file = open_.find(descriptor);
  if (file != open_.end())
    calls_.push_back({.kind = Call::Kind::truncate, .file = file->second, .offset = size});
}

void RecordedDisk::synced(int descriptor) {
  const auto file = open_.find(descriptor);
  if (file == open_.end() || fault_ == Fault::ignores_syncs) return;
  if (file->second != the_folder) {
    calls_.push_back({.kind = Call::Kind::sync, .file = file->second});
  } else if (fault_ != Fault::ignores_syncs_of_folders) {
    calls_.push_back({.kind = Call::Kind::sync_folder});
  }
}

void RecordedDisk::unlinked(const std::string& path) {
  if (!is_inside(path)) return;
  const std::string name = fs::path(path).filename();
  if (names_.erase(name) != 0) calls_.push_back({.kind = Call::Kind::unname, .text = name});
}

/// What is on the disk for good, and which calls are not.
struct RecordedDisk::Disk {
  std::vector<std::string> contents;
  std::map<std::string, File> names;
  std::vector<const Call*> pending;

  void apply(const Call& call) {
    switch (call.kind) {
      case Call::Kind::write:
        write_at(contents[call.file], call.offset, call.text);
        break;
      case Call::Kind::truncate:
        contents[call.file].resize(call.offset);
        break;
      case Call::Kind::name:
        names[call.text] = call.file;
        break;
      case Call::Kind::unname:
        names.erase(call.text);
        break;
      case Call::Kind::sync:
      case Call::Kind::sync_folder:
        break;
    }
  }

  static bool is_of_folder(const Call& call) {
    return call.kind == Call::Kind::name || call.kind == Call::Kind::unname;
  }

  /// All that waits for this sync.
  void settle(const Call& sync) {
    std::erase_if(pending, [&](const Call* call) {
      const bool is_settled = sync.kind == Call::Kind::sync_folder
                                  ? is_of_folder(*call)
                                  : !is_of_folder(*call) && call->file == sync.file;
      if (is_settled) apply(*call);
      return is_settled;
    });
  }
};

void RecordedDisk::leave(std::size_t cut, std::mt19937_64& random, const fs::path& folder) const {
  Disk disk{.contents = beginning_, .names = first_names_, .pending = {}};
  for (std::size_t i = 0; i < cut; ++i) {
    if (calls_[i].kind == Call::Kind::sync || calls_[i].kind == Call::Kind::sync_folder) {
      disk.settle(calls_[i]);
    } else {
      disk.pending.push_back(&calls_[i]);
    }
  }
  // The kernel writes back what and when it likes: now and then nothing, all, or all up to some call.
  const auto way = random() % 4;
  const std::size_t border = random() % (disk.pending.size() + 1);
  for (std::size_t i = 0; i < disk.pending.size(); ++i) {
    const Call& call = *disk.pending[i];
    if (way == 0 || (way == 1 && i >= border) || (way == 2 && random() % 2 == 0)) continue;
    if (call.kind == Call::Kind::write && way != 1) {
      write_some(disk.contents[call.file], call.offset, call.text, random);
    } else {
      disk.apply(call);
    }
  }
  for (const auto& [name, file] : disk.names) {
    // The index of a write-ahead log is made anew.
    if (name.ends_with("-shm")) continue;
    std::ofstream(folder / name, std::ios::binary) << disk.contents[file];
  }
}

namespace {

/// The C library's own.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Result, class Tell>
Result told(Result result, Tell tell) {
  if (recording != nullptr && result >= 0) tell(*recording);
  return result;
}

}  // namespace

}  // namespace leaf::test

using leaf::test::next;
using leaf::test::RecordedDisk;
using leaf::test::told;

// In place of the C library's, for all that this program loads.
extern "C" {

__attribute__((visibility("default"))) int open64(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  const int descriptor = real(path, flags, mode);
  return told(descriptor, [&](RecordedDisk& disk) { disk.opened(path, descriptor); });
}

__attribute__((visibility("default"))) int close(int descriptor) {
  static auto* const real = next<int(int)>("close");
  return told(real(descriptor), [&](RecordedDisk& disk) { disk.closed(descriptor); });
}

__attribute__((visibility("default"))) ssize_t pwrite64(int descriptor, const void* data, size_t size,
                                                        off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  const ssize_t count = real(descriptor, data, size, offset);
  return told(count, [&](RecordedDisk& disk) {
    disk.written(descriptor, static_cast<std::uint64_t>(offset), data, static_cast<std::size_t>(count));
  });
}

__attribute__((visibility("default"))) int ftruncate64(int descriptor, off64_t size) noexcept {
  static auto* const real = next<int(int, off64_t)>("ftruncate64");
  return told(real(descriptor, size),
              [&](RecordedDisk& disk) { disk.truncated(descriptor, static_cast<std::uint64_t>(size)); });
}

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
  static auto* const real = next<int(int)>("fdatasync");
  return told(real(descriptor), [&](RecordedDisk& disk) { disk.synced(descriptor); });
}

__attribute__((visibility("default"))) int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return told(real(descriptor), [&](RecordedDisk& disk) { disk.synced(descriptor); });
}

__attribute__((visibility("default"))) int unlink(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("unlink");
  return told(real(path), [&](RecordedDisk& disk) { disk.unlinked(path); });
}
}
