#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/hash.hpp"
#include "host/shared_state.hpp"

namespace leaf::test {

/// The files in `folder` that hold buffers, in no order.
inline std::vector<std::filesystem::path> state_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("tag-") || name.starts_with("worker-")) files.push_back(entry.path());
  }
  return files;
}

/// The only buffer's file in `folder`.
inline std::filesystem::path state_file_in(const std::filesystem::path& folder) {
  const auto files = state_files_in(folder);
  REQUIRE(files.size() == 1);
  return files.front();
}

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Into the file that is there, which stays the same inode.
inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  REQUIRE(out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush());
}

/// Changes what a file says of itself as `change(header)` does, with a checksum that is right again.
template <class Change>
void patch_header(const std::filesystem::path& file, Change change) {
  std::string bytes = read_bytes(file);
  REQUIRE(bytes.size() == host::state_size);
  host::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  const std::string_view summed(reinterpret_cast<const char*>(&header), offsetof(host::FileHeader, checksum));
  header.checksum = host::Hash().add(summed).value();
  std::memcpy(bytes.data(), &header, sizeof header);
  write_bytes(file, bytes);
}

}  // namespace leaf::test
