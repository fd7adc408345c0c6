#include "simulation/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace leaf::simulation {

namespace {

/// All IDs of a history, with tags told apart. It lasts as long as the program, since to make one anew takes
/// longer than a history: what a history before has left counts as empty.
class IdSet {
 public:
  void clear() noexcept {
    ++history_;
    used_ = 0;
  }
  /// False if it is there already.
  bool insert(std::uint64_t key) {
    if (++used_ > slots_.size() / 2) std::abort();  // no history draws so much
    // IDs that follow each other are drawn together, so they lie together.
    const std::size_t first = (key >> 6) * 0x9E3779B97F4A7C15 >> (64 - bits);
    for (std::size_t at = first + key % 64;; ++at) {
      Slot& slot = slots_[at % slots_.size()];
      if (slot.history != history_) {
        slot = {key, history_};
        return true;
      }
      if (slot.key == key) return false;
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t history = 0;
  };
  static constexpr int bits = 18;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << bits);
  std::uint64_t history_ = 0;
  std::size_t used_ = 0;
};

IdSet& all_ids() {
  static IdSet& set = *new IdSet;
  return set;
}
[[maybe_unused]] const IdSet& made_at_the_begin = all_ids();

}  // namespace

Ledger::Ledger(const Layout& layout) : layout_(layout) {
  all_ids().clear();
}

void Ledger::tag_granted(int tag, Range ids, int host, int process, const Source& source) {
  tags_[tag].emplace(ids.lo, Grant{.range = ids,
                                   .host = host,
                                   .process = process,
                                   .source = source,
                                   .granted_at = Scheduler::the().now()});
}

void Ledger::tag_delivered(int tag, std::int64_t begin) {
  const auto grant = tags_[tag].upper_bound(begin);
  if (grant != tags_[tag].begin()) std::prev(grant)->second.is_delivered = true;
}

void Ledger::worker_granted(std::int64_t worker, Range time_ms, int host, int process, const Source& source) {
  workers_[worker].emplace(time_ms.lo,
                           Grant{.range = time_ms, .host = host, .process = process, .source = source});
}

void Ledger::tag_published(int tag, std::int64_t end) {
  auto grant = tags_[tag].lower_bound(end);
  if (grant == tags_[tag].begin()) return;
  Grant& last = std::prev(grant)->second;
  last.is_published = last.is_published || last.range.hi == end;
}

std::int64_t Ledger::end_of_drawn(int tag, int store) const {
  const auto end = ends_.find({tag, store});
  return end == ends_.end() ? 0 : end->second;
}

void Ledger::note(int tag, std::int64_t id) {
  ++ids_;
  const auto key = static_cast<std::uint64_t>(id) ^ static_cast<std::uint64_t>(tag + 1) << 60;
  if (all_ids().insert(key) || (may_repeat && may_repeat(tag, id))) return;
  ++repeats_;
  fail(tag == snowflakes ? fmt::format("snowflake ID {} was drawn twice", id)
                         : fmt::format("ID {} of tag {} was drawn twice", id, tag));
}

std::optional<Ledger::Source> Ledger::source_of(int tag, Range ids, int host, int process) {
  Source source;
  /// The end of a grant that holds `from`; `from` itself if there is none.
  const auto end_of_grant = [&](Grants& grants, std::int64_t from, std::int64_t to) {
    for (auto it = grants.upper_bound(from); it != grants.begin();) {
      Grant& grant = (--it)->second;
      if (from >= grant.range.hi || host != grant.host || (process != 0 && process != grant.process))
        continue;
      source = grant.source;
      last_granted_at_ = grant.granted_at;
      const std::int64_t end = std::min(to, grant.range.hi);
      grant.drawn += static_cast<std::uint64_t>(end - from);
      return end;
    }
    return from;
  };
  // What was granted piece by piece may be drawn as one.
  const auto find = [&](Grants& grants, Range range) -> std::optional<Source> {
    while (!range.empty()) {
      const std::int64_t end = end_of_grant(grants, range.lo, range.hi);
      if (end == range.lo) return std::nullopt;
      range.lo = end;
    }
    return source;
  };
  if (tag != snowflakes) return find(tags_[tag], ids);
  const DecodedId id = layout_.decompose(ids.lo);
  const std::int64_t begin = id.time.time_since_epoch().count();
  return find(workers_[id.worker], {begin, begin + layout_.unit().count()});
}

int Ledger::drawn(const Call& call, int tag, Range ids, int host, int process) {
  for (std::int64_t id = ids.lo; id < ids.hi; ++id) note(tag, id);
  const auto source = source_of(tag, ids, host, process);
  if (!source) {
    fail(fmt::format("IDs [{}, {}) of {} lie in no range that was granted to host {}", ids.lo, ids.hi, tag,
                     host));
    return 0;
  }
  std::int64_t& end = ends_[{tag, source->store}];
  end = std::max(end, ids.hi);
  keep_order(call, tag, ids, host, *source);
  return source->store;
}

void Ledger::keep_order(const Call& call, int tag, Range ids, int host, const Source& source) {
  if (call.order == nullptr || call.before.life != call.order->life) return;
  const auto store = static_cast<std::size_t>(source.store);
  const Reached& before = call.before.of_stores[store];
  Reached& reached = call.order->of_stores[store];
  if (source.copy < reached.copy)
    return;  // by one who has not noticed yet that the name leads to another copy
  if (source.copy == before.copy && ids.lo <= before.highest)
    fail(fmt::format("ID {} of {} came after {}, on host {}", ids.lo, tag, before.highest, host));
  if (source.copy > reached.copy) reached = {.highest = -1, .copy = source.copy};
  reached.highest = std::max(reached.highest, ids.hi - 1);
}

std::int64_t Ledger::undrawn(int tag, int process) const {
  const auto grants = tags_.find(tag);
  if (grants == tags_.end()) return 0;
  std::int64_t ids = 0;
  for (const auto& [begin, grant] : grants->second) {
    if (process == 0 ? grant.is_published : grant.is_delivered && process == grant.process)
      ids += static_cast<std::int64_t>(grant.range.size() - grant.drawn);
  }
  return ids;
}

std::int64_t Ledger::untouched_ranges(int tag) const {
  const auto grants = tags_.find(tag);
  if (grants == tags_.end()) return 0;
  return std::ranges::count_if(grants->second, [](const auto& entry) { return entry.second.drawn == 0; });
}

}  // namespace leaf::simulation
