#include "store/file_identity.hpp"

#include <sys/stat.h>

#include <charconv>

namespace leaf::store {

// Each start comes by: without fmt it does not touch its library.
std::string FileIdentity::copy() const {
  char text[64];
  char* end = std::to_chars(text, std::end(text), device, 16).ptr;
  *end++ = '/';
  end = std::to_chars(end, std::end(text), inode).ptr;
  *end++ = '/';
  end = std::to_chars(end, std::end(text), birth_ns).ptr;
  return {text, end};
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
