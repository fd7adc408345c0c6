#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/hash.hpp"
#include "host/state.hpp"

namespace leaf::test {

/// The files of host state in `folder`, in no order.
inline std::vector<std::filesystem::path> state_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

/// The only file of host state in `folder`.
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

/// Changes what a file says of itself as `change(constants)` does, with a checksum that is right again.
template <class Change>
void patch_constants(const std::filesystem::path& file, Change change) {
  std::string bytes = read_bytes(file);
  REQUIRE(bytes.size() == host::state_size);
  host::Constants constants;
  std::memcpy(&constants, bytes.data(), sizeof constants);
  change(constants);
  const std::string_view summed(reinterpret_cast<const char*>(&constants),
                                offsetof(host::Constants, checksum));
  constants.checksum = host::Hash().add(summed).value();
  std::memcpy(bytes.data(), &constants, sizeof constants);
  write_bytes(file, bytes);
}

}  // namespace leaf::test
