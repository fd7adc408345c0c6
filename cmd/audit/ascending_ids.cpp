#include "audit/ascending_ids.hpp"

#include <algorithm>
#include <utility>

#include "audit/id_sort.hpp"

namespace leafctl {

namespace {

/// The shares of the memory: an eighth each for what is sorted and its copy, and for reading runs; half for
/// runs, most of which a bitmap takes where there is one.
constexpr std::size_t shares = 8;
constexpr std::size_t runs_share = 4;
constexpr std::size_t bitmap_share = 3;

/// What there is room for at once: few IDs do not take all the memory that many would.
constexpr std::size_t first_ids = 8192;

/// Several runs as one.
class Merge {
 public:
  explicit Merge(IdBitmap* bitmap = nullptr) : bitmap_(bitmap) {}

  void add(BlockStore& store, IdRun run) { readers_.emplace_back(store, std::move(run)); }

  /// Calls `take` with all IDs in ascending order, some at a time.
  template <class Take>
  void run(Take take) {
    constexpr std::size_t batch = 4096;
    std::vector<std::int64_t> ids(batch);
    std::size_t count = 0;
    for (std::size_t source = 0; source < readers_.size() + (bitmap_ == nullptr ? 0 : 1); ++source) {
      std::int64_t id = 0;
      if (next(source, id)) heads_.push_back({id, source});
    }
    std::ranges::make_heap(heads_, above);
    while (!heads_.empty()) {
      // One source may go on for long before it is another one's turn.
      Head head = heads_.front();
      const std::int64_t turn = second();
      bool is_there = true;
      while (is_there && head.id <= turn) {
        ids[count++] = head.id;
        if (count == batch) take(std::span(ids).first(std::exchange(count, 0)));
        is_there = next(head.source, head.id);
      }
      if (is_there) {
        replace_first(head);
      } else {
        std::ranges::pop_heap(heads_, above);
        heads_.pop_back();
      }
    }
    take(std::span(ids).first(count));
  }

 private:
  struct Head {
    std::int64_t id;
    std::size_t source;
  };

  static bool above(const Head& left, const Head& right) { return left.id > right.id; }

  bool next(std::size_t source, std::int64_t& id) {
    return source < readers_.size() ? readers_[source].next(id) : bitmap_->next(id);
  }

  /// The least ID beside the first one.
  std::int64_t second() const {
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 1; i < std::min<std::size_t>(heads_.size(), 3); ++i)
      least = std::min(least, heads_[i].id);
    return least;
  }

  void replace_first(const Head& head) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < heads_.size(); child = 2 * at + 1) {
      if (child + 1 < heads_.size() && heads_[child + 1].id < heads_[child].id) ++child;
      if (heads_[child].id >= head.id) break;
      heads_[at] = heads_[child];
      at = child;
    }
    heads_[at] = head;
  }

  std::vector<IdRunReader> readers_;
  IdBitmap* bitmap_;
  std::vector<Head> heads_;
};

}  // namespace

AscendingIds::AscendingIds(AscendingSink& sink, const Options& options)
    : sink_(sink),
      memory_(std::max(options.memory, least_memory)),
      block_size_(std::clamp<std::size_t>(memory_ / 64, IdRunWriter::smallest_block, 64UL * 1024)),
      most_runs_(std::max<std::size_t>(memory_ / shares / block_size_, 8)),
      store_(memory_ / shares * runs_share, options.folder),
      most_ids_(memory_ / shares / sizeof(std::int64_t)),
      buffer_(std::min(most_ids_, first_ids)) {}

void AscendingIds::add(std::span<const std::int64_t> ids) {
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), buffer_.size() - filled_);
    std::ranges::copy(ids.first(count), buffer_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += count;
    ids = ids.subspan(count);
    if (filled_ < buffer_.size()) continue;
    if (buffer_.size() < most_ids_) {
      buffer_.resize(std::min(2 * buffer_.size(), most_ids_));
    } else {
      flush(false);
    }
  }
}

void AscendingIds::finish() {
  flush(true);
  buffer_ = {};
  scratch_ = {};
  if (is_in_order_) return;
  if (run_) add_run(run_->finish(), 0);
  run_.reset();
  merge_all();
}

void AscendingIds::flush(bool is_last) {
  std::span<std::int64_t> ids = std::span(buffer_).first(filled_);
  const bool is_sorted = std::ranges::is_sorted(ids);
  if (bitmap_ != nullptr) {
    filled_ = 0;
    const std::size_t rest = pour_into_bitmap(ids).size();
    ids = ids.first(rest);
  }
  if (!is_sorted) {
    scratch_.resize(buffer_.size());
    sort_ids(ids, scratch_);
  }
  // Who comes a little late finds a place among those that are held back.
  const std::size_t held_back = is_last || !is_in_order_ ? 0 : ids.size() / 8;
  pass_on(ids.first(ids.size() - held_back), is_last);
  std::ranges::copy(ids.last(held_back), buffer_.begin());
  filled_ = held_back;
}

void AscendingIds::pass_on(std::span<const std::int64_t> ids, bool is_last) {
  if (ids.empty()) return;
  if (is_in_order_ && ids.front() < last_) {
    if (not_kept_) throw leaf::Error(*not_kept_);
    is_in_order_ = false;
    sink_.start_over();
  }
  if (is_in_order_) {
    sink_.take(ids);
    last_ = ids.back();
    if (is_last) return;
  }
  try {
    if (!not_kept_) keep(ids);
  } catch (const leaf::Error& error) {
    if (!is_in_order_) throw;
    // Perhaps nothing is ever asked of it.
    not_kept_ = error;
    run_.reset();
    levels_.clear();
  }
}

void AscendingIds::keep(std::span<const std::int64_t> ids) {
  if (!is_in_order_ && !has_looked_for_bitmap_) choose_bitmap(ids);
  append_to_run(ids);
}

void AscendingIds::append_to_run(std::span<const std::int64_t> ids) {
  if (run_ && ids.front() < run_->last()) {
    add_run(run_->finish(), 0);
    run_.reset();
  }
  if (!run_) run_.emplace(store_, block_size_);
  run_->append(ids);
}

void AscendingIds::choose_bitmap(std::span<const std::int64_t> ids) {
  has_looked_for_bitmap_ = true;
  const std::size_t bytes = memory_ / shares * bitmap_share;
  const std::uint64_t bits = std::uint64_t{bytes} * 8;
  const std::int64_t least = ids.front();
  const auto range = static_cast<std::uint64_t>(ids.back()) - static_cast<std::uint64_t>(least);
  if (range >= bits) return;
  // There may be more on both sides.
  const auto below = static_cast<std::int64_t>((bits - range) / 2);
  bitmap_ = std::make_unique<IdBitmap>(std::max<std::int64_t>(least - below, 0), bytes);
  store_.limit(memory_ / shares * (runs_share - bitmap_share));
}

std::span<const std::int64_t> AscendingIds::pour_into_bitmap(std::span<std::int64_t> ids) {
  // What is there already comes once more, from a run.
  std::size_t rest = 0;
  for (const std::int64_t id : ids) {
    if (!bitmap_->covers(id) || !bitmap_->insert(id)) ids[rest++] = id;
  }
  return ids.first(rest);
}

void AscendingIds::add_run(IdRun run, std::size_t level) {
  if (level == levels_.size()) levels_.emplace_back();
  levels_[level].push_back(std::move(run));
  if (levels_[level].size() < most_runs_) return;
  Merge merge;
  for (IdRun& one : levels_[level]) merge.add(store_, std::move(one));
  levels_[level].clear();
  IdRunWriter merged(store_, block_size_);
  merge.run([&](std::span<const std::int64_t> ids) { merged.append(ids); });
  add_run(merged.finish(), level + 1);
}

void AscendingIds::merge_all() {
  Merge merge(bitmap_.get());
  for (auto& level : levels_) {
    for (IdRun& run : level) merge.add(store_, std::move(run));
  }
  merge.run([this](std::span<const std::int64_t> ids) { sink_.take(ids); });
}

}  // namespace leafctl
