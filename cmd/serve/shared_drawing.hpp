#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
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

  /// The handle of a tag that exists: for what was never a tag nothing is kept.
  leaf::SegmentTag tag(const leaf::TagName& name);
  /// How many IDs a segment of it has, as of the first call of tag().
  std::int64_t step_of(const leaf::TagName& name);
  /// Adds IDs to `ranges` until there are `count`.
  static void draw(leaf::SegmentTag& tag, std::uint64_t count, Shape shape, IdRanges& ranges);

  /// Leases a worker where none is held yet.
  leaf::SnowflakeGenerator& generator();
  static void draw(leaf::SnowflakeGenerator& generator, std::uint64_t count, IdRanges& ranges);

  /// The store's.
  leaf::Layout layout();
  /// The same, if it was asked for before; never waits.
  std::optional<leaf::Layout> known_layout();

  /// Whether IDs can be drawn: the store answers, or whatever was drawn before has IDs in memory.
  void require_ready();

 private:
  class BorrowedStore;

  leaf::Store take_store();
  void return_store(leaf::Store store);
  void require_tag(const leaf::TagName& name);
  bool is_buffered(const leaf::TagName& name, std::int64_t& step) const;

  const Options& options_;
  leaf::SegmentAllocator allocator_;
  std::mutex generator_mutex_;
  std::unique_ptr<leaf::SnowflakeGenerator> generator_;

  std::mutex mutex_;
  std::map<leaf::TagName, std::int64_t> steps_;  ///< of the tags that are known to exist
  std::vector<leaf::Store> stores_;              ///< that nobody uses
  std::optional<leaf::Layout> layout_;
};

}  // namespace leafctl::serve
