#pragma once

#include <sys/types.h>

#include <vector>

namespace leaf::shell {

/// A script chooses the numbers of its own files, as in `exec 3>log`, and a file of ours would be in the way:
/// so ours lie above those that scripts use.
inline constexpr int first_own_descriptor = 256;

/// While one lives, whatever this process opens gets such a number; where the limit of open files is lower
/// than that, the highest half of them.
class HighDescriptors {
 public:
  HighDescriptors();
  ~HighDescriptors();
  HighDescriptors(const HighDescriptors&) = delete;
  HighDescriptors& operator=(const HighDescriptors&) = delete;

 private:
  std::vector<int> fillers_;
};

/// Which files there are above, to tell later whether a script has closed or replaced one all the same.
class OwnDescriptors {
 public:
  /// Notes those that are open now.
  void note();
  bool are_untouched() const;

 private:
  struct File {
    int descriptor;
    dev_t device;
    ino_t inode;
  };
  std::vector<File> files_;
};

}  // namespace leaf::shell
