#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leaf/tag.hpp"

namespace leaf {

/// How far the store is known to have granted. A grant that begins below its mark comes from a store that
/// has gone back, and may be in use already. Marks belong to a deployment, whatever its store's name: a copy
/// of it that was put back is told from nothing else.
///
/// `subject` is what mark_of() makes of a tag or a worker. Thread safe. Throws Error as the place where marks
/// are kept does.
class GrantMarks {
 public:
  virtual ~GrantMarks() = default;

  /// The end of what is known to be granted; 0 if nothing is.
  virtual std::int64_t highest(const std::string& deployment, const std::string& subject) = 0;
  /// Remembers that all before `end` may be in use. Never lowers.
  virtual void raise(const std::string& deployment, const std::string& subject, std::int64_t end) = 0;
  /// For a holder that is about to give back what lies from `end` on.
  virtual void lower(const std::string& deployment, const std::string& subject, std::int64_t end) = 0;
};

/// Marks count IDs for tags, and Unix milliseconds for workers.
std::string mark_of(const TagName& tag);
std::string mark_of(std::int64_t worker);

/// Marks that go with the process.
std::shared_ptr<GrantMarks> marks_in_memory();

}  // namespace leaf
