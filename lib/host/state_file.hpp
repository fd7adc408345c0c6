#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/descriptor.hpp"
#include "host/fetch_lock.hpp"
#include "host/file_header.hpp"
#include "host/folder.hpp"
#include "host/shared_state.hpp"
#include "leaf/error.hpp"
#include "leaf/store_identity.hpp"

namespace leaf::host {

/// Told where the takers of a buffer had come.
using NoteEnd = std::function<void(std::int64_t)>;

/// One mapped file. The mapping is for all threads, and stays where it is until the object goes, and all that
/// have shared_state().
class StateFile {
 public:
  /// The file of `key`, made if there is none that counts. What does not match this boot, device, inode,
  /// version or key, or is damaged, is thrown away. Throws Error: `refused` for what may not be trusted,
  /// `failed` if there is no space, `unavailable` if the lock of a file to throw away is held.
  static std::shared_ptr<StateFile> open(const Folder& folder, const FileKey& key);
  /// As open(), but asks `may_replace` before it throws away a file that counts and has another key; null if
  /// that one is to stay. Nobody else can replace the file between the question and what follows.
  static std::shared_ptr<StateFile> open(const Folder& folder, const FileKey& key,
                                         const std::function<bool(StateFile&)>& may_replace);
  /// As open(), but makes nothing and throws nothing away; null if there is none that counts.
  static std::shared_ptr<StateFile> find(const Folder& folder, const std::string& file_name);
  static std::shared_ptr<StateFile> find(const Folder& folder, const FileKey& key);
  /// Throws Error (failed) where the system does not tell its boot, without which no file counts.
  static void require_known_boot();
  /// 0, or why no file could be made in `folder`, as errno has it. Leaves nothing there.
  static int why_none_can_be_made(const Folder& folder);
  /// As find(), also where what is buffered is damaged.
  static std::shared_ptr<StateFile> find_any(const Folder& folder, const std::string& file_name);
  /// Why the file of that name, which is there, does not count although it is of this boot.
  static std::optional<Error> why_lost(const Folder& folder, const std::string& file_name);
  /// A copy of another user's file, for nothing but to be looked at; null if it does not count.
  static std::shared_ptr<StateFile> look(const Folder& folder, const std::string& file_name);
  ~StateFile() = default;
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  SharedState& state() noexcept { return *state_; }
  const std::shared_ptr<SharedState>& shared_state() const noexcept { return state_; }
  /// False if what is buffered is not what was written. Others may be writing it.
  bool is_intact() const;
  /// What its key says.
  std::string name() const;
  std::string shown_store() const;
  /// The store that it belongs to, or that it says a name leads to.
  StoreIdentity identity() const;

  /// False where its owner has cut it, so that its memory may not be touched.
  bool is_whole() const;
  /// False once the file was thrown away, put aside or cut: others draw from another one. What is buffered in
  /// it may still be used.
  bool is_current(const Folder& folder) const;
  /// None if another holds the lock, or the file is not current any more.
  std::optional<FetchLock> try_lock(const Folder& folder) const;
  /// Takes the file's name from it, for whoever holds its lock. False if the file has lost it already, or
  /// another is taking a name in this folder.
  bool throw_away(const Folder& folder, const FetchLock& lock) const;
  /// As throw_away(), where the one who holds the lock has stopped: what that process publishes later is
  /// lost. Before anybody can go on with another file, `note_end` is told where the buffer's takers had come.
  bool take_from_holder(const Folder& folder, const NoteEnd& note_end);
  /// Closes the file that had this name before, if it was taken from its holder by one who has stopped or
  /// died over that. To be called before anything is granted for this file, if nothing ever was.
  void finish_taking(const Folder& folder, const NoteEnd& note_end) const;

 private:
  /// `memory` is a mapping of state_size bytes, which the object unmaps.
  StateFile(std::string name, Descriptor descriptor, void* memory);
  static std::shared_ptr<StateFile> map(std::string name, Descriptor descriptor);
  static std::shared_ptr<StateFile> map_any(const Folder& folder, const std::string& file_name);
  static bool throw_away_foreign(const Folder& folder, const FileKey& key,
                                 const std::function<bool(StateFile&)>& may_replace);
  static int make_nameless(const Folder& folder, Descriptor& made);
  static std::shared_ptr<StateFile> make(const Folder& folder, const FileKey& key);
  bool counts(const std::string& boot) const;

  std::string name_;
  Descriptor descriptor_;
  std::shared_ptr<SharedState> state_;
};

/// The names of all files of this version in `folder` that hold one of `kinds`.
std::vector<std::string> state_files(const Folder& folder, std::initializer_list<FileKind> kinds);

}  // namespace leaf::host
