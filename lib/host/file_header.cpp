#include "host/file_header.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "host/descriptor.hpp"
#include "host/hash.hpp"
#include "leaf/error.hpp"
#include "store/made_once.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::host {

namespace {

constexpr char magic[8] = {'l', 'e', 'a', 'f', 'h', 'o', 's', 't'};

std::string suffix() {
  return std::string(".v").append(std::to_string(state_format));
}

const char* prefix_of(FileKind kind) {
  static constexpr const char* prefixes[] = {"tag-", "worker-", "mark-", "store-"};
  return prefixes[static_cast<std::size_t>(kind)];
}

std::uint64_t checksum_of(const FileHeader& header) {
  return Hash().add({reinterpret_cast<const char*>(&header), offsetof(FileHeader, checksum)}).value();
}

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

}  // namespace

// Each call from the buffer comes by: without fmt a start does not touch its library.
std::string FileKey::file_name() const {
  Hash hash;
  if (kind != FileKind::store_name) hash.add(identity.deployment).add(identity.copy);
  std::uint64_t number = hash.add(key).value();
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); number != 0; number >>= 4, ++digit)
    *digit = "0123456789abcdef"[number & 15];
  return std::string(prefix_of(kind)).append(digits).append(suffix());
}

bool is_file_name(std::string_view name, FileKind kind) {
  return name.starts_with(prefix_of(kind)) && name.ends_with(suffix());
}

const std::string& boot_id() {
  static constinit MadeOnce<std::string> id;
  return id.get([] {
    constexpr const char* boot_file = "/proc/sys/kernel/random/boot_id";
    const Descriptor file(::open(boot_file, O_RDONLY | O_CLOEXEC));
    char text[sizeof FileHeader::boot] = {};
    const ssize_t length = file ? read(file.get(), text, sizeof text - 1) : -1;
    if (length <= 0) {
      const int error = errno;
      throw Error(
          ErrorCode::failed,
          fmt::format("the system does not identify its boot, by '{}': {}", boot_file, std::strerror(error)),
          is_shortage(error) ? shortage_hint(error)
                             : advice("mount '/proc', or go without the host's buffer{}"_hint,
                                      Remedy{Remedy::Kind::do_without_host}));
    }
    return std::string(text, strcspn(text, "\n"));
  });
}

std::optional<Birth> birth_of(int descriptor) {
  struct statx file {};
  constexpr unsigned wanted = STATX_INO | STATX_BTIME | STATX_BLOCKS;
  if (statx(descriptor, "", AT_EMPTY_PATH, wanted, &file) != 0) return std::nullopt;
  return Birth{
      .device = std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor,
      .inode = file.stx_ino,
      .time_ns = static_cast<std::uint64_t>(file.stx_btime.tv_sec) * 1'000'000'000 + file.stx_btime.tv_nsec,
      .has_space = file.stx_blocks > 0};
}

FileHeader header_of(const FileKey& key, const Birth& birth, const std::string& boot) {
  FileHeader header{};
  std::copy(std::begin(magic), std::end(magic), header.magic);
  header.format = state_format;
  header.kind = key.kind;
  header.device = birth.device;
  header.inode = birth.inode;
  header.birth_ns = birth.time_ns;
  copy_text(header.boot, boot);
  copy_text(header.name, key.name);
  copy_text(header.shown_store, key.shown_store);
  copy_text(header.deployment, key.identity.deployment);
  copy_text(header.copy, key.identity.copy);
  header.checksum = checksum_of(header);
  return header;
}

bool is_for(const FileHeader& header, const FileKey& key) {
  return header.kind == key.kind && text_of(header.name) == key.name &&
         text_of(header.deployment) == key.identity.deployment && text_of(header.copy) == key.identity.copy;
}

bool is_of(const FileHeader& header, const Birth& birth, const std::string& boot) {
  return std::equal(std::begin(magic), std::end(magic), header.magic) && header.format == state_format &&
         is_undamaged(header) && header.device == birth.device && header.inode == birth.inode &&
         header.birth_ns == birth.time_ns && text_of(header.boot) == boot;
}

bool is_undamaged(const FileHeader& header) {
  return header.checksum == checksum_of(header);
}

StoreIdentity identity_of(const FileHeader& header) {
  return {.deployment = text_of(header.deployment), .copy = text_of(header.copy)};
}

}  // namespace leaf::host
