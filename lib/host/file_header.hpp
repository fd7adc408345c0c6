#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "host/shared_state.hpp"
#include "leaf/store_identity.hpp"

namespace leaf::host {

/// What a file is for.
struct FileKey {
  FileKind kind;
  std::string name;
  std::string key;            ///< what tells it from others of its kind and store; usually the name
  std::string shown_store{};  ///< for people
  StoreIdentity identity{};   ///< of a name: where it leads to, which is no part of the file's name

  /// The name of its file.
  std::string file_name() const;
};

/// Whether a file of that name is of this version and holds a `kind`.
bool is_file_name(std::string_view name, FileKind kind);

/// What no other file of this boot has: the number of an inode may come back, but at another time.
struct Birth {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t time_ns;
  bool has_space;  ///< else a full file system would show by a SIGBUS
};

/// Nothing if the system does not tell.
std::optional<Birth> birth_of(int descriptor);

/// Names this boot of the kernel, which a process does not outlive. Never destroyed: a handler at exit may
/// draw. Throws Error (failed) where the system does not tell.
const std::string& boot_id();

/// That of a new file.
FileHeader header_of(const FileKey& key, const Birth& birth, const std::string& boot);
/// True if it is what was written, whatever that says.
bool is_undamaged(const FileHeader& header);
/// True if it is that of the file born then, in this version and boot.
bool is_of(const FileHeader& header, const Birth& birth, const std::string& boot);
/// True if it is that of a file for `key`.
bool is_for(const FileHeader& header, const FileKey& key);
/// The store that it names.
StoreIdentity identity_of(const FileHeader& header);

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

}  // namespace leaf::host
