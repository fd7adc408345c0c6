#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "leaf/range.hpp"
#include "store/grant_marks.hpp"

namespace leaf::host {

/// How far one copy of the store has granted.
struct CopyRecord {
  std::atomic<std::uint64_t> copy{0};  ///< its hash; 0: nobody's
  std::atomic<std::int64_t> end{0};
};

/// Where a mark lies, in memory that processes may share. Any number may use it at once, and die at any
/// point.
///
/// The name of its holder is written down so that it means nothing at another end: there a mark is nobody's,
/// which refuses what it might allow, until its holder raises it again.
struct MarkPlace {
  std::atomic<std::int64_t>* end;
  std::atomic<std::uint64_t>* holder;
  std::array<CopyRecord, 8>* copies;

  GrantMarks::Mark load() const {
    const std::int64_t highest = end->load(std::memory_order_acquire);
    return {.end = highest, .holder = holder->load(std::memory_order_acquire) ^ bound_to(highest)};
  }

  /// Whoever raises it names himself first: who dies in between has used nothing above it.
  void raise(const GrantMarks::Mark& mark) const {
    if (mark.end == 0) return;  // who knows nothing takes nobody's name away
    std::int64_t highest = end->load(std::memory_order_acquire);
    while (highest <= mark.end) {
      holder->store(mark.holder ^ bound_to(mark.end), std::memory_order_release);
      if (end->compare_exchange_strong(highest, mark.end, std::memory_order_acq_rel,
                                       std::memory_order_acquire))
        return;
    }
  }

  /// Only while it has that holder's name.
  void lower(const GrantMarks::Mark& mark) const {
    std::int64_t highest = end->load(std::memory_order_acquire);
    std::uint64_t named = holder->load(std::memory_order_acquire);
    if (highest <= mark.end || named != (mark.holder ^ bound_to(highest))) return;
    if (!end->compare_exchange_strong(highest, mark.end, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      return;  // somebody raised it
    holder->compare_exchange_strong(named, mark.holder ^ bound_to(mark.end), std::memory_order_acq_rel,
                                    std::memory_order_acquire);
    // Not those of a copy that has been granted more since.
    for (CopyRecord& record : *copies) {
      std::int64_t found = highest;
      record.end.compare_exchange_strong(found, mark.end, std::memory_order_seq_cst,
                                         std::memory_order_seq_cst);
    }
  }

  /// Raises the mark in the name of `by`. Each copy writes how far it has granted before it looks at the
  /// others: of two that are granted the same at once, the later one sees the earlier one. The mark comes
  /// first: it has to name a number that the claims of no copy lie above, should this process die in between.
  bool claim(std::uint64_t copy, Range granted, MarkHolder by) const {
    raise({.end = granted.hi, .holder = by});
    bool is_alone = true;
    CopyRecord& own = record_of(copy, granted.lo, is_alone);
    raise_to(own.end, granted.hi);
    // A copy that has taken the record over by now may not have seen this.
    is_alone = is_alone && own.copy.load(std::memory_order_seq_cst) == copy;
    return is_alone && std::ranges::none_of(*copies, [&](const CopyRecord& other) {
             return &other != &own && other.end.load(std::memory_order_seq_cst) > granted.lo;
           });
  }

 private:
  /// The first end, which the mark of the layout has, leaves a name what it is.
  static std::uint64_t bound_to(std::int64_t end) {
    return static_cast<std::uint64_t>(end - 1) * 0x9E3779B97F4A7C15;
  }
  static void raise_to(std::atomic<std::int64_t>& value, std::int64_t target) {
    std::int64_t found = value.load(std::memory_order_seq_cst);
    while (found < target && !value.compare_exchange_strong(found, target, std::memory_order_seq_cst,
                                                            std::memory_order_seq_cst)) {
    }
  }
  /// The copy's own; where there is none, a free one, else that of the copy that is furthest behind. If that
  /// one has granted beyond `lowest`, `is_alone` becomes false: nobody finds its record any more.
  CopyRecord& record_of(std::uint64_t copy, std::int64_t lowest, bool& is_alone) const {
    for (;;) {
      CopyRecord* chosen = nullptr;
      std::uint64_t former = 0;
      std::int64_t furthest_behind = 0;
      for (CopyRecord& record : *copies) {
        const std::uint64_t found = record.copy.load(std::memory_order_seq_cst);
        if (found == copy) return record;
        const std::int64_t end_of_it = record.end.load(std::memory_order_seq_cst);
        if (chosen != nullptr && (former == 0 || (found != 0 && end_of_it >= furthest_behind))) continue;
        chosen = &record;
        former = found;
        furthest_behind = end_of_it;
      }
      if (chosen->copy.compare_exchange_strong(former, copy, std::memory_order_seq_cst,
                                               std::memory_order_seq_cst)) {
        // It may have been written to until now.
        if (chosen->end.load(std::memory_order_seq_cst) > lowest) is_alone = false;
        return *chosen;
      }
    }
  }
};

}  // namespace leaf::host
