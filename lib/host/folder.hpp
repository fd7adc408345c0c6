#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/descriptor.hpp"
#include "host/fork_mutex.hpp"
#include "leaf/host.hpp"

namespace leaf::host {

/// `options` with a folder that keeps its meaning when the working folder changes. Throws Error (usage) if
/// none is named.
HostOptions with_absolute_folder(HostOptions options);

/// The folder of a host's state, opened and found trustworthy.
class Folder {
 public:
  /// Makes the folder if it does not exist. Throws Error: `usage` if it cannot be made or is on a file system
  /// that is not local, `refused` if others may write in it.
  static Folder open(const HostOptions& options);
  /// Has a folder looked at that is made as open() would make it, and leaves nothing behind. Throws Error as
  /// that does.
  static void try_to_make(const HostOptions& options, const std::function<void(const Folder&)>& look);
  /// As open(), but makes nothing: none if there is no such folder.
  static std::optional<Folder> find(const HostOptions& options);

  /// The folder of whatever user, of which nothing is made sure and nothing may be taken. Throws Error
  /// (usage, refused) if it cannot be opened.
  static Folder look(const std::string& path);

  /// False once it was removed, or another one is in its place.
  bool is_current() const;

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string& path() const noexcept { return path_; }
  /// What a file in it is made with, and has to have.
  mode_t file_mode() const noexcept { return group_ ? 0660 : 0600; }
  /// True if `file`, which lies in this folder, can have been written by those alone who are trusted.
  bool trusts_owner_of(const struct stat& file) const noexcept;

 private:
  Folder(const HostOptions& options, Descriptor descriptor);
  Folder(std::string path, Descriptor descriptor);

  std::string path_;
  bool group_;
  gid_t gid_ = 0;
  Descriptor descriptor_;
};

/// The folder that a name leads to, also where that was removed and made anew under a process that runs.
/// Thread safe.
class CurrentFolder {
 public:
  /// Throws Error as Folder::open() does, and `usage` if no folder is named.
  explicit CurrentFolder(HostOptions options);

  /// Throws Error as Folder::open() does.
  std::shared_ptr<const Folder> get();

 private:
  const HostOptions options_;
  ForkMutex mutex_;
  std::shared_ptr<const Folder> folder_;
};

}  // namespace leaf::host
