#include "terminal/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

[[noreturn]] void fail(leaf::ErrorCode code, const std::string& path, int error) {
  throw leaf::Error(code, fmt::format("cannot read '{}': {}", path, std::strerror(error)));
}

/// More than a store with a million tags exports.
constexpr std::size_t greatest_size = 256UL << 20;

std::string read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(block.data(), static_cast<std::size_t>(count));
      if (text.size() > greatest_size)
        throw leaf::Error(leaf::ErrorCode::usage, fmt::format("'{}' is larger than 256 MiB", name),
                          "import it in parts"_hint);
    } else if (errno != EINTR) {
      fail(leaf::ErrorCode::failed, name, errno);
    }
  }
}

}  // namespace

OpenInput::OpenInput(const std::string& path)
    : descriptor_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      name_(path == "-" ? "standard input" : path) {
  if (descriptor_ == STDIN_FILENO) return;
  struct stat status {};
  if (descriptor_ >= 0 && (fstat(descriptor_, &status) != 0 || !S_ISDIR(status.st_mode))) return;
  if (descriptor_ >= 0) {
    close(descriptor_);
    errno = EISDIR;
  }
  const bool is_shortage = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  fail(is_shortage ? leaf::ErrorCode::failed : leaf::ErrorCode::usage, path, errno);
}

OpenInput::~OpenInput() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

void tell_of_typed_ids(int descriptor, Messages& messages) {
  if (isatty(descriptor) == 1) messages.info("reading IDs from standard input; end with Ctrl-D");
}

InputFile InputFile::read(const std::string& path) {
  const OpenInput input(path);
  InputFile file{input.name(), read_all(input.descriptor(), input.name())};
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (file.text.starts_with(byte_order_mark)) file.text.erase(0, byte_order_mark.size());
  return file;
}

}  // namespace leafctl
