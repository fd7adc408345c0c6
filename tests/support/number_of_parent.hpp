#pragma once

namespace leaf::test {

/// While it lives, children are told the PID of this process as theirs, as one is that becomes the first of a
/// PID namespace of its own and whose parent is the first of another.
class NumberOfParent {
 public:
  NumberOfParent();
  ~NumberOfParent();
  NumberOfParent(const NumberOfParent&) = delete;
  NumberOfParent& operator=(const NumberOfParent&) = delete;
};

}  // namespace leaf::test
