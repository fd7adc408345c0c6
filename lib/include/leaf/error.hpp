#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/export.hpp"
#include "leaf/remedy.hpp"

namespace leaf {

/// What kind of failure an Error reports. The values are also the exit statuses of `leafctl`.
enum class ErrorCode {
  failed = 1,       ///< nothing below fits
  usage = 2,        ///< an argument or the configuration is wrong; trying again cannot help
  unavailable = 3,  ///< the store is out of reach or did not answer in time; trying again may help
  not_found = 4,    ///< no such tag or worker
  refused = 5,      ///< refused because uniqueness could not be guaranteed
  exhausted = 6,    ///< no IDs are left: a tag's limit, the workers, the bits of a layout
};

/// One failure: a code, a text, a hint and an SQLSTATE. The only exception type of libleaf.
class LEAF_EXPORT Error : public std::runtime_error {
 public:
  /// `what` is one lower-case line without a final stop; `advice` says what to do, or is empty.
  Error(ErrorCode code, const std::string& what, Advice advice = {}, std::string sqlstate = {});
  ~Error() override;
  Error(const Error&);
  Error& operator=(const Error&);

  ErrorCode code() const noexcept { return code_; }
  /// What the reader can do about it, in words that fit any program; may be empty.
  const std::string& hint() const noexcept { return advice_.hint; }
  /// The steps that the hint proposes, for a program that names its own way to take them.
  const std::vector<Remedy>& remedies() const noexcept { return advice_.remedies; }
  /// Both, for an Error made from this one.
  const Advice& advice() const noexcept { return advice_; }
  /// Five characters from the database (or the nearest equivalent for SQLite); may be empty.
  const std::string& sqlstate() const noexcept { return sqlstate_; }
  /// True if the same call may succeed later without anybody changing anything.
  bool retryable() const noexcept { return code_ == ErrorCode::unavailable; }

 private:
  ErrorCode code_;
  Advice advice_;
  std::string sqlstate_;
};

}  // namespace leaf
