#include "shell/high_descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace leaf::shell {

namespace {

/// No shell has more of ours: a folder and a file for each tag that it draws from.
constexpr int most_own = 4096;

int limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return first_own_descriptor;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, first_own_descriptor + most_own));
}

int first_descriptor() {
  return std::min(first_own_descriptor, limit_of_files() / 2);
}

std::optional<struct stat> file_at(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? std::optional(status) : std::nullopt;
}

}  // namespace

HighDescriptors::HighDescriptors() {
  const int first = first_descriptor();
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int filler = nothing; filler >= 0; filler = fcntl(nothing, F_DUPFD_CLOEXEC, 0)) {
    if (filler >= first) {
      close(filler);
      break;
    }
    fillers_.push_back(filler);
  }
}

HighDescriptors::~HighDescriptors() {
  for (const int filler : fillers_) close(filler);
}

void OwnDescriptors::note() {
  // The next free one and those below are looked at: ours lie close together.
  constexpr int gap = 16;
  files_.clear();
  int last = first_descriptor();
  for (int descriptor = last; descriptor < last + gap && descriptor < limit_of_files(); ++descriptor) {
    const auto file = file_at(descriptor);
    if (!file) continue;
    files_.push_back({descriptor, file->st_dev, file->st_ino});
    last = descriptor;
  }
}

bool OwnDescriptors::are_untouched() const {
  return std::ranges::all_of(files_, [](const File& known) {
    const auto file = file_at(known.descriptor);
    return file && file->st_dev == known.device && file->st_ino == known.inode;
  });
}

}  // namespace leaf::shell
