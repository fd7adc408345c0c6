#include "leaf/detail/double_buffer.hpp"

#include <algorithm>
#include <bit>

#include "range/backoff.hpp"

namespace leaf::range {

namespace {

/// One to one, 0 for 0, and every bit has its part in lower ones too.
std::uint64_t mix(std::uint64_t number, std::uint64_t odd_factor) noexcept {
  number *= odd_factor;
  return number ^ number >> 32;
}

/// Always another one where one of the three numbers differs, and but for chance where several do; 0 for a
/// slot that is all zero. Cheap, for views are taken with each snowflake ID; no protection against whoever
/// computes it too.
std::uint64_t checksum_of(std::int64_t lo, std::uint32_t size, std::uint32_t mark, std::uint32_t label,
                          std::uint32_t generation) noexcept {
  const std::uint64_t begin = mix(static_cast<std::uint64_t>(lo), 0x9E3779B97F4A7C15);
  const std::uint64_t sizes = mix(std::uint64_t{size} << 32 | mark, 0xC2B2AE3D27D4EB4F);
  const std::uint64_t names = mix(std::uint64_t{label} << 32 | generation, 0x165667B19E3779F9);
  return mix(begin + std::rotl(sizes, 21) + std::rotl(names, 42), 0xFF51AFD7ED558CCD);
}

}  // namespace

/// The loads are acquiring ones: where the slot is being rewritten, whoever looks at the word after this sees
/// that the cursor has left it.
bool DoubleBuffer::is_published(std::uint32_t generation) const noexcept {
  if (!names(generation)) return false;
  const Slot& named = slot(generation);
  const std::int64_t lo = named.lo.load(std::memory_order_acquire);
  const std::uint32_t size = named.size.load(std::memory_order_acquire);
  const std::uint32_t mark = named.mark.load(std::memory_order_acquire);
  const std::uint32_t label = named.label.load(std::memory_order_acquire);
  return named.checksum.load(std::memory_order_acquire) == checksum_of(lo, size, mark, label, generation);
}

bool DoubleBuffer::swap(std::uint64_t& expected, std::uint64_t desired) noexcept {
  if (!word_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel, std::memory_order_acquire))
    return false;
  note(desired);
  return true;
}

bool DoubleBuffer::is_intact() const noexcept {
  const std::uint64_t noted = noted_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    const std::uint32_t current = generation_of(word);
    const bool is_closed = offset_of(word) == UINT32_MAX;  // nothing is taken, whatever lies in the slot
    const bool is_good = !is_before(word, noted) && (is_closed || is_published(current)) &&
                         (!names(current + 1) || is_published(current + 1));
    // As in view(): what was rewritten meanwhile is looked at again.
    if (is_good || generation_of(word_.load(std::memory_order_relaxed)) == current) return is_good;
  }
}

DoubleBuffer::Taken DoubleBuffer::take(std::uint64_t at_most) noexcept {
  Backoff backoff;
  std::uint64_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t offset = offset_of(word);
    const std::uint32_t next = generation_of(word) + 1;
    const Slot& current = slot(generation_of(word));
    // If the slot is being rewritten for a later generation these values are wrong, but then the swap below
    // fails.
    const std::uint32_t size = current.size.load(std::memory_order_relaxed);
    const std::int64_t lo = current.lo.load(std::memory_order_relaxed);
    if (offset < size) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(at_most, size - offset));
      const bool fetch_next = offset + std::uint64_t{count} >= current.mark.load(std::memory_order_relaxed) &&
                              !is_published(next);
      if (swap(word, word + count)) return {{lo + offset, lo + offset + count}, fetch_next};
      backoff.pause();
    } else if (is_published(next)) {
      // Having acquired the slot's generation, the swap releases the slot's other fields to whoever reads the
      // word.
      if (swap(word, word_of(next, 0))) word = word_of(next, 0);
    } else {
      const std::uint64_t seen = word_.load(std::memory_order_acquire);
      if (seen == word) return {{}, true};
      word = seen;
    }
  }
}

DoubleBuffer::View DoubleBuffer::view() const noexcept {
  for (;;) {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    const std::uint32_t generation = generation_of(word);
    const Slot& current = slot(generation);
    View view{.word = word,
              .rest = range_of(generation, offset_of(word)),
              .label = current.label.load(std::memory_order_acquire),
              .untouched = offset_of(word) == 0,
              .mark_reached = false,
              .mark = current.mark.load(std::memory_order_acquire),
              .has_next = is_published(generation + 1),
              .next = {}};
    view.mark_reached = offset_of(word) >= view.mark;
    if (view.has_next) view.next = range_of(generation + 1, 0);
    // No slot was rewritten while it was read if the generation is still the same; the loads above are
    // acquiring ones so that this one stays behind them.
    if (generation_of(word_.load(std::memory_order_relaxed)) == generation) return view;
  }
}

bool DoubleBuffer::take_up_to(const View& view, std::int64_t end) noexcept {
  std::uint64_t expected = view.word;
  return swap(expected, view.word + static_cast<std::uint64_t>(end - view.rest.lo));
}

bool DoubleBuffer::take_next_up_to(const View& view, std::int64_t end) noexcept {
  const std::uint32_t next = generation_of(view.word) + 1;
  std::uint64_t expected = view.word;
  return is_published(next) && swap(expected, word_of(next, static_cast<std::uint32_t>(end - view.next.lo)));
}

bool DoubleBuffer::advance(const View& view) noexcept {
  const std::uint32_t next = generation_of(view.word) + 1;
  std::uint64_t expected = view.word;
  return is_published(next) && swap(expected, word_of(next, 0));
}

std::uint32_t DoubleBuffer::next_turn() const noexcept {
  const std::uint32_t next = generation_of(word_.load(std::memory_order_acquire)) + 1;
  return is_published(next) ? next + 1 : next;
}

void DoubleBuffer::close() noexcept {
  while (!close(view())) continue;
}

bool DoubleBuffer::close(const View& seen) noexcept {
  // No turn that somebody has reaches so far; and no offset is left in a slot, whatever its size becomes.
  constexpr std::uint32_t past_all_turns = 3;
  std::uint64_t word = seen.word;
  return swap(word, word_of(generation_of(word) + past_all_turns, UINT32_MAX));
}

std::int64_t DoubleBuffer::end_of_taken(const View& seen) noexcept {
  return offset_of(seen.word) == UINT32_MAX || generation_of(seen.word) == 0 ? 0 : seen.rest.lo;
}

bool DoubleBuffer::is_closed() const noexcept {
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  const std::uint32_t generation = generation_of(word);
  return offset_of(word) == UINT32_MAX && !names(generation) && !is_published(generation + 1);
}

std::int64_t DoubleBuffer::published_end() const noexcept {
  const View seen = view();
  if (seen.has_next) return seen.next.hi;
  if (!is_closed()) return seen.rest.hi;
  // Closed: the cursor stands past all turns, and means neither slot.
  std::int64_t end = 0;
  for (const Slot& slot : slots_) {
    const std::uint32_t generation = slot.generation.load(std::memory_order_acquire);
    if (generation != 0 && is_published(generation)) end = std::max(end, range_of(generation, 0).hi);
  }
  return end;
}

std::uint64_t DoubleBuffer::drain() noexcept {
  std::uint64_t drained = 0;
  for (Taken taken = take(max_size); !taken.range.empty(); taken = take(max_size))
    drained += taken.range.size();
  return drained;
}

bool DoubleBuffer::wants_next() const noexcept {
  return !is_published(generation_of(word_.load(std::memory_order_acquire)) + 1);
}

void DoubleBuffer::publish(Range range, std::uint32_t mark, std::uint32_t label,
                           std::uint32_t turn) noexcept {
  std::uint64_t word = word_.load(std::memory_order_acquire);
  // The range before is still to come: takers leave it and the current one, or have gone there meanwhile.
  while (generation_of(word) + 2 == turn) {
    const std::uint32_t before = turn - 1;
    if (swap(word, word_of(before, slot(before).size.load(std::memory_order_relaxed)))) break;
  }
  Slot& free = slot(turn);
  // Whoever sees one of these also sees that the cursor has left the slot; view() relies on it.
  free.lo.store(range.lo, std::memory_order_release);
  free.size.store(static_cast<std::uint32_t>(range.size()), std::memory_order_release);
  free.mark.store(mark, std::memory_order_release);
  free.label.store(label, std::memory_order_release);
  free.checksum.store(checksum_of(range.lo, static_cast<std::uint32_t>(range.size()), mark, label, turn),
                      std::memory_order_release);
  free.generation.store(turn, std::memory_order_release);
}

}  // namespace leaf::range
