#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "leaf/range.hpp"

namespace leafctl {

/// Which IDs of a range were seen, a bit each, in memory that a process shares with those that it forks. Only
/// what lies around seen IDs takes memory.
class SeenIds {
 public:
  /// Throws leaf::Error (failed).
  SeenIds();
  ~SeenIds();
  SeenIds(const SeenIds&) = delete;
  SeenIds& operator=(const SeenIds&) = delete;

  /// Says which IDs there may be; in one process, once, before any of them calls open().
  /// Throws leaf::Error (failed).
  void cover(leaf::Range ids);
  /// In each process, before what follows. Throws leaf::Error (failed).
  void open();

  leaf::Range covered() const noexcept { return ids_; }
  /// True if an ID that is covered is new. Any number of threads and processes.
  bool insert(std::int64_t id) noexcept {
    const std::uint64_t index = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(ids_.lo);
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    return (words_[index / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

 private:
  int file_;  // in memory: the range, then, from the second page on, the bits
  leaf::Range ids_;
  void* mapping_ = nullptr;
  std::size_t mapped_size_ = 0;
  std::atomic<std::uint64_t>* words_ = nullptr;
};

/// An ID that should not have been drawn.
struct Violation {
  enum class Kind { repeated, not_above, too_low };
  Kind kind;
  std::int64_t id;
  std::int64_t bound = 0;  ///< not_above: the ID that it had to be above; too_low: the lowest it could be

  /// Such as "ID 5 was drawn twice".
  std::string text() const;
};

/// How many violations were found, and the first of them. Plain data, all zero when new.
class Violations {
 public:
  void add(const Violation& violation) noexcept;
  void merge(const Violations& other) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  /// As many as there is room for.
  std::span<const Violation> first() const noexcept;

 private:
  std::uint64_t count_ = 0;
  std::array<Violation, 8> first_{};
};

/// Checks what the threads of a process, or of several, draw from one buffer. Any number of threads.
class IdCheck {
 public:
  /// No ID is below it.
  static constexpr std::int64_t none = -1;

  /// Both are borrowed, and may lie in memory that processes share. `seen` is open; `newest` is `none` at
  /// first, and common to all who draw from the same buffer.
  IdCheck(SeenIds& seen, std::atomic<std::int64_t>& newest) : seen_(seen), newest_(newest) {}

  /// The greatest ID whose call has ended: what a call returns that begins now has to be above it.
  std::int64_t newest() const noexcept { return newest_.load(std::memory_order_acquire); }

  /// Checks what a call returned that began when newest() was `floor`. Throws leaf::Error (failed) for an ID
  /// above those that are covered.
  void check(std::int64_t floor, std::int64_t id, Violations& violations);
  void check(std::int64_t floor, std::span<const std::int64_t> ids, Violations& violations);
  void check(std::int64_t floor, leaf::Range ids, Violations& violations);

 private:
  void check_one(std::int64_t floor, std::int64_t id, Violations& violations);
  void note_newest(std::int64_t id) noexcept;

  SeenIds& seen_;
  std::atomic<std::int64_t>& newest_;
};

}  // namespace leafctl
