#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leaf/export.hpp"
#include "leaf/range.hpp"

namespace leaf::range {

/// The granted range that IDs are taken from, the one that comes after it, and the cursor.
///
/// The cursor is one word {generation, offset}. Taking is one compare-and-swap of that word: it succeeds only
/// while the range it looked at is still the current one, so a thread or process that was stopped in between
/// can neither give an ID twice nor leave its range. (fetch_add would move the cursor first and look
/// afterwards.) Moving to the next range raises the generation. A generation comes back after 2^32 ranges; a
/// taker would have to sleep through exactly that many, and meet the same offset, to be mistaken.
///
/// Plain data without pointers or locks, all zero when new: it may lie in memory that processes share. Any
/// number may take at once; publish() and the reading of its precondition need a lock that the owner keeps
/// elsewhere. A publisher that dies at any point leaves either the old state or the new one.
///
/// Each slot carries a checksum, and counts as published with that alone. The word cannot have one, for
/// takers move it by adding; a copy that is kept of it now and then tells one that went back.
///
/// Public only because SegmentTag::next() is inlined: a call alone costs a tenth of an ID. Its layout is part
/// of the ABI.
class LEAF_EXPORT DoubleBuffer {
 public:
  /// The parts of a word.
  static constexpr std::uint32_t generation_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr std::uint32_t offset_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static constexpr std::uint64_t word_of(std::uint32_t generation, std::uint32_t offset) {
    return std::uint64_t{generation} << 32 | offset;
  }

  /// The longest range that one slot holds.
  static constexpr std::uint64_t max_size = UINT32_MAX;

  struct Taken {
    Range range;              ///< empty: both ranges are used up
    bool fetch_next = false;  ///< the mark is passed and no next range is there
  };

  /// Takes the next IDs, 1 to `at_most`, from one range. `at_most` must not be 0.
  Taken take(std::uint64_t at_most) noexcept;

  /// The word that its holder left the buffer with. A wrong one, such as another buffer's, costs a second
  /// attempt and nothing else. For all threads, but each does best with one of its own.
  class Guess {
   public:
    Guess() = default;
    Guess(const Guess& other) noexcept : word_(other.load()) {}
    Guess& operator=(const Guess& other) noexcept {
      store(other.load());
      return *this;
    }

    std::uint64_t load() const noexcept { return word_.load(std::memory_order_relaxed); }
    void store(std::uint64_t word) noexcept { word_.store(word, std::memory_order_relaxed); }

   private:
    std::atomic<std::uint64_t> word_{0};
  };

  /// take(1) for the usual case, small enough to be inlined; false if take() has to look closer. To load the
  /// word right after the last swap of it costs more than the swap: so it is guessed.
  bool take_one(Guess& guess, std::int64_t& id, bool& mark_reached) noexcept {
    std::uint64_t word = guess.load();
    if (!take_one_at(word, id, mark_reached)) [[unlikely]] {
      if (!take_one_at(word, id, mark_reached)) return false;
    }
    guess.store(word + 1);
    return true;
  }

  /// The buffer at one moment, for those who choose themselves what to take.
  struct View {
    std::uint64_t word = 0;
    Range rest;               ///< what is left of the current range
    std::uint32_t label = 0;  ///< of the current range
    bool untouched = false;   ///< nothing of the current range was taken yet
    bool mark_reached = false;
    std::uint32_t mark = 0;  ///< how many of the current range may be taken before the mark is reached
    bool has_next = false;
    Range next;  ///< the next range, if there is one
  };

  View view() const noexcept;

  /// Moves the cursor to `end`, in (rest.lo, rest.hi], so that all before it is the caller's or lost.
  /// False if the buffer has changed since `view`.
  bool take_up_to(const View& view, std::int64_t end) noexcept;

  /// As take_up_to(), of `count` from `word`, which a view or an earlier call has told; all of them must lie
  /// in the range that it means. False where the cursor stands elsewhere; `word` is where it stands after the
  /// call.
  bool take_at(std::uint64_t& word, std::uint32_t count) noexcept {
    if (!word_.compare_exchange_strong(word, word + count, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      return false;
    }
    word += count;
    note(word);
    return true;
  }

  /// The same, to `end` in (next.lo, next.hi]: what is left of the current range is lost.
  bool take_next_up_to(const View& view, std::int64_t end) noexcept;

  /// Leaves the rest of the current range and goes to the next one. False if there is none or the buffer has
  /// changed.
  bool advance(const View& view) noexcept;

  /// False if a slot in use was changed by others than publish(), or the cursor has gone back to before what
  /// was noted of it last. At any moment, whatever others do meanwhile and wherever they died.
  bool is_intact() const noexcept;

  /// Notes how far the cursor has come. All that move it do so but take_one().
  void note() noexcept { note(word_.load(std::memory_order_acquire)); }

  /// The end of the last range that was published; 0 if none was. Precondition as of publish().
  std::int64_t published_end() const noexcept;

  /// Takes all that is left of both ranges, for nobody. Returns how many IDs that were.
  std::uint64_t drain() noexcept;

  /// True if a range can be published: there is no next one yet.
  bool wants_next() const noexcept;

  /// Whose turn a range is that is asked for now: what publish() is given when it has come. Precondition: as
  /// of publish().
  std::uint32_t next_turn() const noexcept;

  /// Makes `range` (1 to max_size IDs) the next one, in its turn. Where there is a next one already, what is
  /// left of both is given up. Takers are told to fetch once `mark` of its IDs are taken. `label` is whatever
  /// its takers have to know of it. Precondition: nobody else publishes.
  void publish(Range range, std::uint32_t mark, std::uint32_t label, std::uint32_t turn) noexcept;
  void publish(Range range, std::uint32_t mark, std::uint32_t label = 0) noexcept {
    publish(range, mark, label, next_turn());
  }

  /// Gives up what is left of both ranges, and what is published later in a turn that was had before: nothing
  /// is ever taken of it. For whoever cannot wait for a publisher that has stopped.
  void close() noexcept;
  /// The same, unless something was taken since `seen` was looked at; returns false then. What was taken
  /// before ends at end_of_taken(seen).
  bool close(const View& seen) noexcept;
  /// 0 if it was closed when `seen` was looked at, or nothing was ever published.
  static std::int64_t end_of_taken(const View& seen) noexcept;
  /// True from then on until a later range is published. What was taken before is not known.
  bool is_closed() const noexcept;

 private:
  struct Slot {
    std::atomic<std::int64_t> lo{0};
    std::atomic<std::uint32_t> size{0};
    std::atomic<std::uint32_t> mark{0};
    std::atomic<std::uint32_t> label{0};
    std::atomic<std::uint32_t> generation{0};  ///< written last: the slot is valid for this generation only
    std::atomic<std::uint64_t> checksum{0};    ///< of the others
  };

  Slot& slot(std::uint32_t generation) noexcept { return slots_[generation & 1]; }
  const Slot& slot(std::uint32_t generation) const noexcept { return slots_[generation & 1]; }
  bool names(std::uint32_t generation) const noexcept {
    return slot(generation).generation.load(std::memory_order_acquire) == generation;
  }
  bool is_published(std::uint32_t generation) const noexcept;
  Range range_of(std::uint32_t generation, std::uint32_t offset) const noexcept {
    const std::int64_t lo = slot(generation).lo.load(std::memory_order_acquire);
    const std::uint32_t size = slot(generation).size.load(std::memory_order_acquire);
    return {lo + (offset < size ? offset : size), lo + size};
  }
  /// Takes the ID at `word`, if that is where the cursor stands; else `word` becomes where it does.
  bool take_one_at(std::uint64_t& word, std::int64_t& id, bool& mark_reached) noexcept {
    const Slot& current = slot(generation_of(word));
    // With this generation the slot is the range that the word means, or the cursor has left that and the
    // swap fails.
    const std::uint32_t generation = current.generation.load(std::memory_order_acquire);
    const std::uint32_t size = current.size.load(std::memory_order_relaxed);
    const std::int64_t lo = current.lo.load(std::memory_order_relaxed);
    const std::uint32_t mark = current.mark.load(std::memory_order_relaxed);
    const std::uint32_t offset = offset_of(word);
    if (generation != generation_of(word) || offset >= size) [[unlikely]] {
      word = word_.load(std::memory_order_relaxed);
      return false;
    }
    if (!word_.compare_exchange_strong(word, word + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
        [[unlikely]] {
      return false;
    }
    id = lo + offset;
    mark_reached = offset + 1 == mark;
    return true;
  }
  bool swap(std::uint64_t& expected, std::uint64_t desired) noexcept;
  /// Generations come back.
  static bool is_before(std::uint64_t word, std::uint64_t other) noexcept {
    return static_cast<std::int64_t>(word - other) < 0;
  }
  /// One who was stopped before the store may take back what another one noted: then less is noted, until the
  /// next one does.
  void note(std::uint64_t word) noexcept {
    if (is_before(noted_.load(std::memory_order_relaxed), word))
      noted_.store(word, std::memory_order_release);
  }

  // Apart from the slots: they are read by all, the word is written by all.
  alignas(64) std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> noted_{0};  ///< an earlier word
  alignas(64) Slot slots_[2];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace leaf::range
