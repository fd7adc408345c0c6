#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/range.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"

namespace leaf {

/// Tells who was leased a worker from who was before or after: in a store that has gone back an old lease
/// may be good again, beside the one that came later.
using MarkHolder = std::uint64_t;

/// Of the holder of a lease.
MarkHolder holder_of(std::string_view token);

/// How far the store is known to have granted. A grant that begins below its mark comes from a store that has
/// gone back, and may be in use already. Marks belong to a deployment, by whatever name it is reached:
/// nothing else gives a restored copy away.
///
/// `subject` is what mark_of() makes of a tag or a worker. Thread safe. Throws Error as the place where marks
/// are kept does.
class GrantMarks {
 public:
  virtual ~GrantMarks() = default;

  /// What is known to be granted, and to whom the last of it was.
  struct Mark {
    std::int64_t end = 0;   ///< 0 if nothing is
    MarkHolder holder = 0;  ///< nobody's, such as 0, if that is unknown
  };
  virtual Mark mark(const std::string& deployment, const std::string& subject) = 0;
  std::int64_t highest(const std::string& deployment, const std::string& subject) {
    return mark(deployment, subject).end;
  }

  /// What there are marks of in that deployment, in no order.
  virtual std::vector<std::string> subjects(const std::string& deployment) = 0;

  /// Remembers what `store` has granted. False if another copy of it has granted others something beyond
  /// `granted.lo`: both may have granted the same, and what this one granted must not be used. Of two that
  /// are granted the same at once, at least one is told.
  virtual bool claim(const StoreIdentity& store, const std::string& subject, Range granted,
                     MarkHolder holder = 0) = 0;
  /// Remembers that all before `end` may be in use. Never lowers.
  virtual void raise(const std::string& deployment, const std::string& subject, std::int64_t end,
                     MarkHolder holder = 0) = 0;
  /// Gives the mark that holder for good, unless it has one. Returns the one it has.
  virtual MarkHolder settle(const std::string& deployment, const std::string& subject, MarkHolder first) = 0;
  /// For a holder that is about to give back what lies from `end` on. A mark of somebody else's stays.
  virtual void lower(const std::string& deployment, const std::string& subject, std::int64_t end,
                     MarkHolder holder) = 0;
};

/// Marks count IDs for tags, and Unix milliseconds for workers.
std::string mark_of(const TagName& tag);
std::string mark_of(std::int64_t worker);
/// That of a deployment's layout counts nothing: it is settled before the first window is used, and its
/// holder stands for the layout, being the holder_of() of its text.
inline constexpr const char* mark_of_layout = "layout";
/// That of the order of an owner's snowflakes counts positions: what is drawn from a new buffer comes behind
/// it.
std::string mark_of_order(const std::string& owner);
/// The tag that mark_of() made `subject` of; nothing for that of anything else.
std::optional<TagName> tag_of_mark(const std::string& subject);

/// Marks that go with the process.
std::shared_ptr<GrantMarks> marks_in_memory();

}  // namespace leaf
