#pragma once

#include <mutex>
#include <vector>

#include "cli/command.hpp"

namespace leafctl {

/// Warns where this host remembers nothing of what it is granted, or has forgotten some of it: IDs are drawn
/// all the same.
void warn_of_missing_marks(Session& session);

/// The same for a call that draws: looked at before the store is asked, since the grant replaces a file that
/// is damaged, and once more afterwards; said when nothing else is being said.
class MissingMarks {
 public:
  explicit MissingMarks(Session& session) : session_(session) {}

  /// The session's options, with which a Store looks by itself. Not to be used after this object has gone.
  leaf::StoreOptions store_options();
  /// For whoever has the store asked without these options, before and after it. Thread safe.
  void look();
  /// Warns of what was found, once. Does nothing while the store has not been asked.
  void report();

 private:
  Session& session_;
  std::mutex mutex_;
  bool is_asked_ = false;
  bool has_looked_ = false;
  bool has_warned_ = false;
  std::vector<leaf::Error> found_;
};

}  // namespace leafctl
