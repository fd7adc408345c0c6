#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "leaf/error.hpp"
#include "leaf/store_identity.hpp"
#include "serve/id_ranges.hpp"
#include "serve/shared_drawing.hpp"

namespace leafctl::serve {

/// Who waits for IDs.
class Drawer {
 public:
  virtual ~Drawer() = default;
  /// The draw that was asked for has ended, well or not.
  virtual void on_drawn() = 0;
};

/// IDs that were asked for.
struct Draw {
  /// As many as a segment of the tag has.
  static constexpr std::uint64_t one_step = 0;

  std::uint64_t count = 1;
  Shape shape = Shape::any;
  IdRanges ranges{};
  std::optional<leaf::Error> error{};
  Drawer* drawer = nullptr;  ///< null: it has gone
  std::chrono::steady_clock::time_point begun{};
};

/// The draws of one event loop. What is in memory is taken at once; else a thread of the pool waits for the
/// store, and the draws of that tag that come meanwhile wait in their order.
class Drawing {
 public:
  using Clock = std::chrono::steady_clock;

  /// All are borrowed. `patience` is how long a draw waits at most.
  Drawing(boost::asio::io_context& loop, boost::asio::thread_pool& pool, SharedDrawing& shared,
          std::chrono::milliseconds patience)
      : loop_(loop), pool_(pool), shared_(shared), patience_(patience) {}

  /// One ID of a tag, or with none a snowflake ID, if it is in memory. False where begin() is to be called.
  bool try_next(std::string_view tag, std::int64_t& id);

  /// Takes what is asked for. True if it has ended; else its drawer is told when it has. `tag` is a
  /// TagName's, or empty for snowflake IDs.
  bool begin(std::string_view tag, const std::shared_ptr<Draw>& draw);

  /// Ends the draws that have waited for too long: nobody could see to them yet.
  void give_up_late(Clock::time_point now);

  std::size_t waiting() const noexcept { return waiting_; }

 private:
  /// A tag, or the worker of snowflake IDs.
  struct Source {
    std::string tag;  ///< empty: the worker
    bool is_open = false;
    leaf::SegmentTag ids{};
    leaf::SnowflakeGenerator* generator = nullptr;
    std::int64_t step = 0;
    leaf::StoreIdentity store{};  ///< as it was before anything was taken that is not given out yet
    std::deque<std::shared_ptr<Draw>> waiting{};
    bool is_at_work = false;  ///< a thread sees to the first of them
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  /// What a thread brings back.
  struct Opened {
    leaf::SegmentTag ids{};
    leaf::SnowflakeGenerator* generator = nullptr;
    std::int64_t step = 0;
  };

  static bool take(Source& source, Draw& draw);
  static bool take_from_memory(Source& source, Draw& draw);
  static bool is_of_one_store(Source& source, Draw& draw);
  void see_to_first(Source& source);
  void finish_first(Source& source, const Opened& opened);
  void end(Draw& draw);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  SharedDrawing& shared_;
  const std::chrono::milliseconds patience_;
  std::unordered_map<std::string, std::unique_ptr<Source>, Hash, std::equal_to<>> sources_;
  std::size_t waiting_ = 0;
};

}  // namespace leafctl::serve
