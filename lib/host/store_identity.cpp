#include "host/store_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "host/hash.hpp"
#include "leaf/store.hpp"
#include "store/url.hpp"

namespace leaf::host {

namespace {

/// One name for a file, however it was named.
std::string absolute_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real) return real.get();
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.lexically_normal().string();
}

/// A file put in the place of another has another inode or, where that is used again, another birth.
std::uint64_t stamp_of(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &file) != 0) return 0;
  return Hash()
      .add_number(std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor)
      .add_number(file.stx_ino)
      .add_number(static_cast<std::uint64_t>(file.stx_btime.tv_sec))
      .add_number(file.stx_btime.tv_nsec)
      .value();
}

}  // namespace

StoreIdentity identify_store(const std::string& url, const std::string& store_key) {
  const store::Url parsed = store::parse_url(url);
  if (parsed.driver != "sqlite") {
    const std::string shown = redact_url(url);
    return {.shown = shown, .key = Hash().add(shown).add(store_key).value()};
  }
  const std::string path = absolute_path(parsed.target);
  const std::string shown = "sqlite:" + path;
  return {.shown = shown, .key = Hash().add(shown).value(), .stamp = stamp_of(path)};
}

}  // namespace leaf::host
