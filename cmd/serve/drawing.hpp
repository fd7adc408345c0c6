#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store_identity.hpp"
#include "serve/id_ranges.hpp"
#include "serve/jobs.hpp"
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

  Draw(std::uint64_t how_many, Shape in_shape, Drawer* for_drawer)
      : count(how_many), shape(in_shape), drawer(for_drawer) {}

  std::uint64_t count;
  const Shape shape;
  IdRanges ranges{};
  std::optional<leaf::Error> error{};
  Drawer* drawer;                   ///< null once it has gone
  std::uint64_t store_changes = 0;  ///< before anything of `ranges` was taken
  std::atomic<bool> is_abandoned{false};
};

/// Who sees to draws that the loops cannot end at once. What needs no store never waits for what does.
struct DrawingJobs {
  Jobs buffers{1};     ///< looks whether this host has buffered IDs of a tag
  Jobs tags{8};        ///< each waits for one tag at a time
  Jobs snowflakes{2};  ///< wait for a worker, or for the next unit of time
};

/// The draws of one event loop. What is in memory is taken at once; else a thread waits for the store, and
/// the draws of that tag that come meanwhile wait in their order.
class Drawing {
 public:
  /// All are borrowed.
  Drawing(boost::asio::io_context& loop, DrawingJobs& jobs, SharedDrawing& shared)
      : loop_(loop), jobs_(jobs), shared_(shared) {}

  /// One ID of a tag, or with none a snowflake ID, if it is in memory. False where begin() is to be called.
  bool try_next(std::string_view tag, std::int64_t& id);

  /// Takes what is asked for. True if it has ended; else its drawer is told when it has. `tag` is a
  /// TagName's, or empty for snowflake IDs.
  bool begin(std::string_view tag, const std::shared_ptr<Draw>& draw);

  /// Nobody waits for a draw of begin() any more. IDs that are drawn for it nevertheless are lost.
  void abandon(std::string_view tag, const Draw& draw);

  /// Ends what other processes have filled the buffer for, before a thread could see to it.
  void look_again();

  std::size_t waiting() const noexcept { return waiting_; }

 private:
  /// A tag, or the worker of snowflake IDs.
  struct Source {
    std::string tag;  ///< empty: the worker
    bool is_open = false;
    leaf::SegmentTag ids{};
    leaf::SnowflakeGenerator* generator = nullptr;
    std::int64_t step = 0;
    std::deque<std::shared_ptr<Draw>> waiting{};
    bool is_looked_for = false;  ///< in the buffer of the host
    Jobs::Ticket job = 0;        ///< that sees to the first of them; it may end after that has gone
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  /// What a thread is to draw from, and what it brings back.
  struct Work {
    std::shared_ptr<const Draw> draw{};  ///< the thread looks at `is_abandoned` alone
    bool is_open = false;
    leaf::SegmentTag ids{};
    leaf::SnowflakeGenerator* generator = nullptr;
    std::int64_t step = 0;
    std::uint64_t count = 1;
    Shape shape = Shape::any;
    IdRanges ranges{};
    std::uint64_t store_changes = 0;  ///< before anything of `ranges` was taken
    std::optional<leaf::Error> error{};
  };
  using Draws = std::vector<std::shared_ptr<Draw>>;

  static bool may_go_first(const Source& source);
  static bool take(Source& source, Draw& draw);
  static bool take_from_memory(Source& source, Draw& draw);
  static bool is_of_one_store(Source& source, Draw& draw);
  static void take_waiting(Source& source, std::size_t from, Draws& ended);
  Jobs& jobs_of(const Source& source) noexcept { return source.tag.empty() ? jobs_.snowflakes : jobs_.tags; }
  void look();
  void finish_look(const std::vector<std::string>& names,
                   const std::vector<std::optional<SharedDrawing::OpenTag>>& found);
  Jobs::Job job_for_first(Source& source);
  void finish_job(Source& source, Work& work);
  void go_on(Source& source);
  void end(const Draws& draws);

  boost::asio::io_context& loop_;
  DrawingJobs& jobs_;
  SharedDrawing& shared_;
  std::unordered_map<std::string, std::unique_ptr<Source>, Hash, std::equal_to<>> sources_;
  std::vector<std::string> to_look_for_;
  bool looks_ = false;
  std::size_t waiting_ = 0;
};

}  // namespace leafctl::serve
