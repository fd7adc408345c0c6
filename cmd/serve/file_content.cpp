#include "serve/file_content.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "leaf/error.hpp"

namespace leafctl::serve {

namespace {

/// Certificates and lists of tokens are far smaller.
constexpr std::size_t greatest_size = 16UL * 1024 * 1024;

leaf::Error usage(const std::string& what) {
  return {leaf::ErrorCode::usage, what};
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ != -1) close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

FileContent read_file(std::string_view what, const std::string& file) {
  const auto unreadable = [&] {
    return usage(fmt::format("cannot read {} '{}': {}", what, file, std::strerror(errno)));
  };
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (descriptor.get() == -1 || fstat(descriptor.get(), &status) != 0) throw unreadable();
  if (!S_ISREG(status.st_mode)) throw usage(fmt::format("{} '{}' is not a regular file", what, file));
  FileContent content{.text = {}, .mode = status.st_mode};
  char block[16384];
  for (;;) {
    const ssize_t count = read(descriptor.get(), block, sizeof block);
    if (count == 0) return content;
    if (count < 0) throw unreadable();
    content.text.append(block, static_cast<std::size_t>(count));
    if (content.text.size() > greatest_size)
      throw usage(fmt::format("{} '{}' is larger than 16 MiB", what, file));
  }
}

}  // namespace leafctl::serve
