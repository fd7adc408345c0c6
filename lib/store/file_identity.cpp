#include "store/file_identity.hpp"

#include <sys/stat.h>

#include <charconv>
#include <iterator>

namespace leaf::store {

// Each start comes by: without fmt it does not touch its library.
std::string FileIdentity::copy() const {
  char digits[16];
  char* const end = std::to_chars(digits, std::end(digits), device, 16).ptr;
  return std::string(digits, end)
      .append("/")
      .append(std::to_string(inode))
      .append("/")
      .append(std::to_string(birth_ns));
}

FileIdentity identity_of(const struct statx& file) {
  const bool has_birth = (file.stx_mask & STATX_BTIME) != 0;
  return {.device = std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor,
          .inode = file.stx_ino,
          .birth_ns = has_birth ? static_cast<std::uint64_t>(file.stx_btime.tv_sec) * 1'000'000'000 +
                                      file.stx_btime.tv_nsec
                                : 0};
}

}  // namespace leaf::store
