#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "leaf/clock.hpp"
#include "leaf/detail/double_buffer.hpp"
#include "leaf/layout.hpp"
#include "leaf/range.hpp"
#include "leaf/store.hpp"
#include "leaf/store_identity.hpp"

namespace leaf::range {

/// What is known of a tag's pace; nothing in a new one.
struct StepHistory {
  std::int64_t step = 0;  ///< of the last fetch
  std::int64_t tag_step = 0;
  int fetches = 0;  ///< 0, 1, or 2 for more
  UnixTime last_fetch{};
  bool starved = false;  ///< nothing was left when it had come: takers had to wait for the store
};

/// What the next grant of a tag, and whoever asks what is left, have to know.
struct SegmentRecord {
  StepHistory steps;
  std::int64_t start = 1;  ///< the first ID that the tag ever had; 1 where that is not known
  std::int64_t limit = max_id;
  std::int64_t granted_end = 0;  ///< of the last grant, into the buffer or beside it
};

/// The lease of a worker. Where its time ends only the buffer says: a window that was leased but not
/// published is leased again.
struct WindowRecord {
  UnixTime begin{};  ///< of its holder's first window: what lies before that was others'
  std::int64_t worker = 0;
  std::string token;
};

/// What a granter wants to know at its next grant. Kept beside the buffer, wherever that lies.
using GrantRecord = std::variant<std::monostate, SegmentRecord, WindowRecord>;

/// A new one where `record` is none of that kind.
template <class Record>
Record record_as(const GrantRecord& record) {
  const auto* const known = std::get_if<Record>(&record);
  return known == nullptr ? Record() : *known;
}

/// A range that the store granted, and what a buffer has to know of it.
struct Granted {
  Range range;
  std::uint32_t mark = 1;   ///< how many of its IDs may be taken before the next fetch is due
  std::uint32_t label = 0;  ///< whatever its takers have to know
  StoreIdentity store{};    ///< the one that granted it
  /// What all ranges of one buffer come from: a tag's incarnation, or a layout. Ranges of another origin do
  /// not follow on what is buffered, which is given up.
  std::string origin{};
  GrantRecord record{};
  /// By the host's clock, if the store has compared that with its own: see Granter::still_serves().
  UnixTime asked = UnixTime::max();
};

/// A buffer that is to be filled, as the last grant left it.
struct Filled {
  const DoubleBuffer& buffer;
  StoreIdentity store{};  ///< empty if it is new, as the rest
  std::string origin{};
  GrantRecord record{};
  std::int64_t order_end = 0;  ///< the first range of a buffer begins behind it: see Granter::order_mark()
  /// Of what its takers have drawn so far, wherever that was: see Granter::require_alike(). Empty if they may
  /// go on with any other one.
  std::string drawn_origin{};
};

/// What is granted: the segments of one tag, or the windows of one worker. It keeps nothing from one grant to
/// the next, so that it does not matter whether a buffer is one process's or shared by many. For all threads.
class Granter {
 public:
  virtual ~Granter() = default;

  /// The tag, or the owner of the worker.
  virtual std::string name() const = 0;
  /// What is waited for, for messages: "segment of tag 'order'".
  virtual std::string what() const = 0;
  /// Has `store` grant what comes after `filled`. Throws Error: as require_alike() before anything is
  /// granted.
  virtual Granted grant(Store& store, const Filled& filled) const = 0;
  /// Whether `store` still stands where `granted` ends: a tag may have been drawn from since, or raised. A
  /// worker's time only its holder moves on. Throws Error.
  virtual bool is_newest(Store& /*store*/, const Granted& /*granted*/) const { return true; }
  /// Which store a name leads to now. Throws Error as Store::identity().
  virtual StoreIdentity identify(Store& store) const { return store.identity(); }
  /// Throws Error (refused) if takers cannot go on with ranges of the origin `next` after those of `last`.
  virtual void require_alike(const std::string& /*last*/, const std::string& /*next*/) const {}
  /// Under which mark a host notes how far takers had come of a buffer that was taken from a process which
  /// had stopped; empty where the store knows it.
  virtual std::string order_mark() const { return {}; }
  /// True if what was granted serves takers however late they come.
  virtual bool is_timeless() const { return true; }
  /// Whether takers are served at `time` by what is buffered with a next range, so that no other one may take
  /// the place of both: whoever waits for more may have gone by a clock that was ahead, and was set since. Or
  /// it is ahead again by now, so it may be Granted::asked that tells.
  virtual bool still_serves(const DoubleBuffer& /*buffer*/, const std::string& /*origin*/,
                            UnixTime /*time*/) const {
    return false;
  }
  /// False where nothing can be granted while another process may still publish what it was granted.
  virtual bool may_take_over() const { return true; }
};

}  // namespace leaf::range
