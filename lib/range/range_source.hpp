#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leaf/detail/double_buffer.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "range/granter.hpp"

namespace leaf::range {

/// Until when one call may wait for ranges, by its clock; set when it first does.
using CallDeadline = std::optional<std::chrono::steady_clock::time_point>;

/// Where takers draw, and what keeps that filled with what its granter is granted. The buffer lies in this
/// process's memory (OwnRanges) or in the host's (host::SharedRanges). For all threads.
class RangeSource {
 public:
  explicit RangeSource(std::unique_ptr<const Granter> granter) : granter_(std::move(granter)) {}
  virtual ~RangeSource() = default;
  RangeSource(const RangeSource&) = delete;
  RangeSource& operator=(const RangeSource&) = delete;

  const Granter& granter() const noexcept { return *granter_; }

  /// What to draw from now. It may be another one after any call; those of before stay where they are.
  DoubleBuffer& buffer() const noexcept { return *buffer_.load(std::memory_order_acquire); }
  /// For handles whose calls are inlined.
  const std::atomic<DoubleBuffer*>& current_buffer() const noexcept { return buffer_; }

  /// A run of 1 to `at_most` numbers; the next fetch is requested where it is due. Throws Error as await().
  Range take(std::uint64_t at_most);
  /// `count` numbers in increasing order, of one store. None is taken before as many are there, or both
  /// ranges are full of fewer. Throws Error as await().
  virtual std::vector<Range> take_all(std::uint64_t count);
  /// What one buffer held comes from one store.
  struct Piece {
    Range range;
    const DoubleBuffer* buffer;
  };
  /// As take(), and where from.
  Piece take_piece(std::uint64_t at_most, CallDeadline& deadline);
  /// As take_all(), of which `first` was taken already.
  std::vector<Range> take_rest(const Piece& first, std::uint64_t count, CallDeadline& deadline);

  /// True if a fetched range can be put in place: there is no next one yet.
  bool wants_fetch() const noexcept { return buffer().wants_next(); }

  /// As of the last grant; empty before the first.
  virtual GrantRecord record() const = 0;
  virtual std::string origin() const = 0;
  /// The one that what is drawn now comes from; empty before the first grant.
  virtual StoreIdentity granted_by() const = 0;
  /// Another number whenever takers may have come to what another store granted: whoever takes an answer
  /// piece by piece looks before the first and after the last one.
  virtual std::uint64_t store_changes() const noexcept = 0;
  /// As store_changes(), but also where another buffer of the same store may have come, whose numbers need
  /// not be higher.
  virtual std::uint64_t buffer_changes() const noexcept { return store_changes(); }

  /// Returns once `ready()` was true, having had ranges fetched until then; it may take what it found, for it
  /// is not called again. Throws the Error of a fetch that waiting does not cure, `unavailable` after the
  /// deadline of the call, which is the timeout from now on if it has none yet.
  virtual void await(const std::function<bool()>& ready, CallDeadline& deadline) = 0;
  /// Has the next range fetched in the background, if that is this process's to do.
  virtual void request_fetch() = 0;
  /// True if a fetch is due and nobody is at it whom others wait for.
  virtual bool is_fetch_due() { return false; }
  /// The same; the caller then has to see to it soon.
  virtual bool claim_fetch() { return false; }
  /// True if the store is to be asked which one it is.
  virtual bool is_check_due() { return false; }
  /// Fetches now, unless another one is at it or it is not needed any more. Throws Error.
  virtual void fetch() = 0;

  /// Has `store` grant the next range and puts it in place, if that is missing, or if it `is_awaited` by
  /// those who may have no use for what is buffered. Called from one thread at a time. Throws Error.
  virtual void fetch(Store& store, bool is_awaited) = 0;
  /// Looks whether what is buffered may still be drawn, without asking the store. Called each second from one
  /// thread at a time, perhaps during a fetch. True if the store is to be asked.
  virtual bool check() { return false; }
  /// Looks whether the store's name still leads to the same one; perhaps during a fetch. Errors are of no
  /// consequence, neither here nor there.
  virtual void check_name(Store&) {}

 protected:
  /// As the granter does. Where there was a store before, the Error does not say to make one.
  Granted grant(Store& store, const Filled& filled) const;
  /// Has ranges fetched until `count` numbers are there. False where both ranges are full of fewer.
  bool fetch_before_taking(std::uint64_t count, CallDeadline& deadline);
  void draw_from(DoubleBuffer& buffer) noexcept { buffer_.store(&buffer, std::memory_order_release); }
  /// For a caller that has waited that long; `failure` is of the last fetch, or null if that has not failed.
  Error timed_out(std::chrono::milliseconds waited, const Error* failure,
                  const std::string& hint_without_failure) const;

 private:
  friend class Fetcher;

  const std::unique_ptr<const Granter> granter_;
  std::atomic<DoubleBuffer*> buffer_{nullptr};

  /// How a Fetcher gets on with it; guarded by that one's mutex.
  struct FetchState {
    // Both without the mutex too.
    std::atomic<bool> requested{false};
    std::atomic<bool> requested_again{false};  ///< while a fetch was under way, which may have ended for it
    bool queued = false;
    std::chrono::steady_clock::time_point due;  ///< when queued: not to be fetched before
    std::uint64_t begun = 0;                    ///< so many fetches
    std::uint64_t ended = 0;                    ///< the last one that has, by its number
    int awaited = 0;                            ///< by so many callers
    int failures_in_a_row = 0;
    std::unique_ptr<const Error> failure;  ///< of the last fetch, if it failed and memory sufficed to say why
    std::condition_variable changed;       ///< a fetch has ended
  };
  FetchState fetch_;
};

/// How many numbers are left in both ranges.
std::uint64_t left_in(const DoubleBuffer& buffer) noexcept;

/// Adds `range` to ranges in increasing order.
void append(std::vector<Range>& ranges, Range range);

}  // namespace leaf::range
