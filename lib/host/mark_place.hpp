#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "leaf/range.hpp"
#include "store/grant_marks.hpp"

namespace leaf::host {

/// A number that only rises, but for what its holder gives back, and the name of whoever raised it. The name
/// is written down so that it means nothing at another end: there it is nobody's, which refuses what it might
/// allow, until its holder raises it again.
struct NamedEnd {
  std::atomic<std::int64_t>* end;
  std::atomic<std::uint64_t>* holder;

  GrantMarks::Mark load() const {
    const std::int64_t highest = end->load(std::memory_order_seq_cst);
    return {.end = highest, .holder = holder->load(std::memory_order_seq_cst) ^ bound_to(highest)};
  }

  /// Whoever raises it names himself first: who dies in between has used nothing above it.
  void raise(const GrantMarks::Mark& mark) const {
    std::int64_t highest = end->load(std::memory_order_seq_cst);
    while (highest <= mark.end) {
      holder->store(mark.holder ^ bound_to(mark.end), std::memory_order_seq_cst);
      if (end->compare_exchange_strong(highest, mark.end, std::memory_order_seq_cst,
                                       std::memory_order_seq_cst))
        return;
    }
  }

  /// Only while it has that holder's name.
  void lower(const GrantMarks::Mark& mark) const {
    std::int64_t highest = end->load(std::memory_order_seq_cst);
    std::uint64_t named = holder->load(std::memory_order_seq_cst);
    if (highest <= mark.end || named != (mark.holder ^ bound_to(highest))) return;
    if (!end->compare_exchange_strong(highest, mark.end, std::memory_order_seq_cst,
                                      std::memory_order_seq_cst))
      return;  // somebody raised it
    holder->compare_exchange_strong(named, mark.holder ^ bound_to(mark.end), std::memory_order_seq_cst,
                                    std::memory_order_seq_cst);
  }

  /// Nobody's, so that nobody lowers it, if it is `mark` still.
  void disown(const GrantMarks::Mark& mark) const {
    std::uint64_t named = mark.holder ^ bound_to(mark.end);
    holder->compare_exchange_strong(named, bound_to(mark.end), std::memory_order_seq_cst,
                                    std::memory_order_seq_cst);
  }

  /// Gives it the name of the first who asks, for good. Returns that name.
  MarkHolder settle(MarkHolder first) const {
    std::uint64_t named = 0;
    holder->compare_exchange_strong(named, first ^ bound_to(1), std::memory_order_seq_cst,
                                    std::memory_order_seq_cst);
    std::int64_t none = 0;
    end->compare_exchange_strong(none, 1, std::memory_order_seq_cst, std::memory_order_seq_cst);
    return holder->load(std::memory_order_seq_cst) ^ bound_to(1);
  }

 private:
  static std::uint64_t bound_to(std::int64_t end) {
    return static_cast<std::uint64_t>(end - 1) * 0x9E3779B97F4A7C15;
  }
};

/// How far one copy of the store has granted.
struct CopyRecord {
  std::atomic<std::uint64_t> copy{0};  ///< its hash; 0: nobody's
  std::atomic<std::int64_t> end{0};
};

inline constexpr std::size_t known_copies = 8;
using CopyRecords = std::array<CopyRecord, known_copies>;
using CopyHolders = std::array<std::atomic<std::uint64_t>, known_copies>;

/// Where a mark lies, in memory that processes may share. Any number may use it at once, and die at any
/// point.
struct MarkPlace {
  NamedEnd mark;
  CopyRecords* copies;
  CopyHolders* copy_holders;  ///< to whom each of `copies` has granted last

  GrantMarks::Mark load() const { return mark.load(); }
  void raise(const GrantMarks::Mark& known) const { mark.raise(known); }

  /// The records of the copies, too, where they granted to that holder last.
  void lower(const GrantMarks::Mark& to) const {
    mark.lower(to);
    for (std::size_t i = 0; i < known_copies; ++i) granted_by(i).lower(to);
  }

  /// Raises the mark in the name of `by`. Each copy writes how far it has granted before it looks at the
  /// others: of two that are granted the same at once, the later one sees the earlier one. The mark comes
  /// first: it has to name a number that the claims of no copy lie above, should this process die in between.
  /// What another one granted to `by` itself is no conflict: a server that was restarted counts as another
  /// copy.
  bool claim(std::uint64_t copy, Range granted, MarkHolder by) const {
    raise({.end = granted.hi, .holder = by});
    bool is_alone = true;
    const std::size_t own = record_of(copy, granted.lo, is_alone);
    granted_by(own).raise({.end = granted.hi, .holder = by});
    // A copy that has taken the record over by now may not have seen this.
    is_alone = is_alone && (*copies)[own].copy.load(std::memory_order_seq_cst) == copy;
    for (std::size_t i = 0; i < known_copies; ++i) {
      const GrantMarks::Mark other = granted_by(i).load();
      if (i != own && other.end > granted.lo && (by == 0 || other.holder != by)) is_alone = false;
    }
    return is_alone;
  }

 private:
  NamedEnd granted_by(std::size_t copy) const { return {&(*copies)[copy].end, &(*copy_holders)[copy]}; }

  /// The index of the copy's own record; if it has none, that of a free one; failing that, that of the copy
  /// furthest behind, which loses it. If that one has granted beyond `lowest`, `is_alone` becomes false.
  std::size_t record_of(std::uint64_t copy, std::int64_t lowest, bool& is_alone) const {
    for (;;) {
      std::size_t chosen = known_copies;
      std::uint64_t former = 0;
      std::int64_t furthest_behind = 0;
      for (std::size_t i = 0; i < known_copies; ++i) {
        const CopyRecord& record = (*copies)[i];
        const std::uint64_t found = record.copy.load(std::memory_order_seq_cst);
        if (found == copy) return i;
        const std::int64_t end_of_it = record.end.load(std::memory_order_seq_cst);
        if (chosen != known_copies && (former == 0 || (found != 0 && end_of_it >= furthest_behind))) continue;
        chosen = i;
        former = found;
        furthest_behind = end_of_it;
      }
      CopyRecord& record = (*copies)[chosen];
      if (record.copy.compare_exchange_strong(former, copy, std::memory_order_seq_cst,
                                              std::memory_order_seq_cst)) {
        // It may have been written to until now. One that was nobody's only by who claims for this copy too.
        if (record.end.load(std::memory_order_seq_cst) > lowest && former != 0) is_alone = false;
        return chosen;
      }
    }
  }
};

}  // namespace leaf::host
