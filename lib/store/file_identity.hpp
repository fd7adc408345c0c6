#pragma once

#include <cstdint>
#include <string>

struct statx;

namespace leaf::store {

/// What no two files have in common: the number of an inode may come back, but at another time.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;  ///< 0 where the file system does not tell

  /// What names the copy of a deployment that lies in the file: StoreIdentity::copy.
  std::string copy() const;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Of what was asked with STATX_INO and STATX_BTIME.
FileIdentity identity_of(const struct statx& file);

}  // namespace leaf::store
