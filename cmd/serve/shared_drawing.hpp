#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "serve/id_ranges.hpp"
#include "serve/serve.hpp"

namespace leafctl::serve {

/// How the IDs of one draw are to lie.
enum class Shape {
  any,          ///< in increasing order
  consecutive,  ///< one after the other, with none left out
};

/// What all threads draw from. Each call may wait for the store, as long as its timeout; it throws
/// leaf::Error as SegmentTag and SnowflakeGenerator do.
class SharedDrawing {
 public:
  /// `options` is borrowed.
  explicit SharedDrawing(const Options& options);

  struct OpenTag {
    leaf::SegmentTag ids;
    std::int64_t step = 0;  ///< how many IDs a segment had when the tag was looked up
  };
  /// A tag that exists: for what was never a tag nothing is kept.
  OpenTag tag(const leaf::TagName& name);
  /// For each tag the same, if it is known without asking the store; never waits for that.
  std::vector<std::optional<OpenTag>> open_buffered(const std::vector<std::string>& names);
  /// `count` IDs; what a call that throws may cost is said of SegmentTag::next_ranges().
  static IdRanges draw(leaf::SegmentTag& tag, std::uint64_t count, Shape shape);

  /// Leases a worker where none is held yet.
  leaf::SnowflakeGenerator& generator();
  /// Adds IDs to `ranges` until there are `count`, or nobody waits for them any more.
  static void draw(leaf::SnowflakeGenerator& generator, std::uint64_t count, IdRanges& ranges,
                   const std::atomic<bool>& is_abandoned);

  /// The store's, which can change until a worker is leased; while the store is away, what it was last.
  leaf::Layout layout();
  /// The same, if it was asked for before; never waits.
  std::optional<leaf::Layout> known_layout();
  /// The same, if that was so lately that it need not be asked for again.
  std::optional<leaf::Layout> recent_layout();

  /// How a draw that needed the store has ended, of a tag, or with none of snowflake IDs.
  void note_draw(const std::string& tag, const std::optional<leaf::Error>& error);

  /// Whether IDs can be drawn: the store answers and can be written, or whatever was drawn before has IDs in
  /// memory.
  void require_ready();

 private:
  /// The mutex is held.
  void require_none_fails(const std::vector<leaf::HostBuffer>& buffered) const;
  class BorrowedStore;
  struct FailedDraw {
    std::chrono::steady_clock::time_point at;
    std::string why;
  };

  leaf::Store take_store();
  void return_store(leaf::Store store);
  std::optional<std::int64_t> known_step(const leaf::TagName& name);
  /// Of the store that the server draws from; none where this host does not know which that is.
  std::vector<leaf::HostBuffer> buffers() const;
  leaf::Clock& clock() const noexcept { return *options_.store.clock; }

  const Options& options_;
  leaf::SegmentAllocator allocator_;
  std::mutex generator_mutex_;
  std::unique_ptr<leaf::SnowflakeGenerator> generator_;

  std::mutex mutex_;
  std::map<leaf::TagName, std::int64_t> steps_;  ///< of the tags that are known to exist
  std::vector<leaf::Store> stores_;              ///< that nobody uses
  std::optional<leaf::Layout> layout_;
  std::chrono::steady_clock::time_point layout_asked_{};
  std::optional<FailedDraw> failed_draw_;  ///< if the last draw that needed the store has failed
};

}  // namespace leafctl::serve
