#include "simulation/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

Ledger::Ledger(const Layout& layout, const std::optional<Layout>& other_layout)
    : layout_(layout), other_layout_(other_layout) {
  all_ids().clear();
}

void Ledger::tag_granted(int tag, Range ids, int host, int process, const Source& source,
                         const std::string& life) {
  tags_[tag].emplace(ids.lo, Grant{.range = ids,
                                   .host = host,
                                   .process = process,
                                   .source = source,
                                   .granted_at = Scheduler::the().now(),
                                   .life = life});
}

bool Ledger::has_grant_up_to(int tag, std::int64_t end) const {
  const auto grants = tags_.find(tag);
  return grants != tags_.end() &&
         std::ranges::any_of(grants->second, [&](const auto& one) { return one.second.range.hi == end; });
}

void Ledger::tag_delivered(int tag, std::int64_t begin) {
  const auto behind = tags_[tag].upper_bound(begin);
  if (behind == tags_[tag].begin()) return;
  Grant& grant = std::prev(behind)->second;
  grant.is_delivered = true;
  const Scheduler& scheduler = Scheduler::the();
  grant.delivered_at = scheduler.now();
  const Life now{.life = grant.life,
                 .known_since = scheduler.now(),
                 .kept_waiting = scheduler.kept_waiting(scheduler.process())};
  const auto known = lives_.try_emplace({scheduler.process().number, tag}, now).first;
  if (known->second.life != grant.life) known->second = now;
}

Time Ledger::known_as_former(int tag, std::int64_t id, const Process& process) const {
  const auto last = lives_.find({process.number, tag});
  const auto grants = tags_.find(tag);
  if (last == lives_.end() || grants == tags_.end()) return 0;
  const auto behind = grants->second.upper_bound(id);
  if (behind == grants->second.begin() || std::prev(behind)->second.life == last->second.life) return 0;
  const Scheduler& scheduler = Scheduler::the();
  return scheduler.now() - last->second.known_since -
         (scheduler.kept_waiting(process) - last->second.kept_waiting);
}

void Ledger::worker_granted(std::int64_t worker, Range time_ms, int host, int process, const Source& source,
                            bool is_renewed) {
  workers_[worker].emplace(time_ms.lo, Grant{.range = time_ms,
                                             .host = host,
                                             .process = process,
                                             .source = source,
                                             .granted_at = Scheduler::the().now()});
  require_good_lease(worker, time_ms, host, process, source, is_renewed);
}

void Ledger::require_good_lease(std::int64_t worker, Range time_ms, int host, int process,
                                const Source& source, bool is_renewed) {
  const auto not_before = not_before_.find(process);
  if (!is_renewed && not_before != not_before_.end() && time_ms.lo < not_before->second)
    fail(fmt::format("process {} is leased time from {} on, where it asked for none before {}", process,
                     time_ms.lo, not_before->second));
  // It may be on its way when the name comes to lead to a store of another layout, but asks there first.
  constexpr int most_useless = 3, most_ahead = 4;
  const auto made_in = made_in_.find(process);
  if (made_in != made_in_.end() && made_in->second != layout_of(source.store) &&
      ++useless_leases_[process] > most_useless)
    fail(fmt::format("process {} leases one worker after the other of a layout that it makes no IDs in",
                     process));
  // Two windows may follow one that a clock had ahead.
  const std::int64_t clock_ms = clock_of(host) / millisecond;
  const std::int64_t near = clock_ms + 2 * static_cast<std::int64_t>(time_ms.size()) + 60'000;
  int& ahead = leases_ahead_[worker];
  ahead = time_ms.lo > near ? ahead + 1 : 0;
  if (ahead > most_ahead)
    fail(fmt::format("process {} leases window after window of worker {}, {} ms ahead of its clock", process,
                     worker, time_ms.lo - clock_ms));
}

void Ledger::tag_published(int tag, std::int64_t end) {
  auto grant = tags_[tag].lower_bound(end);
  if (grant == tags_[tag].begin()) return;
  Grant& last = std::prev(grant)->second;
  if (last.is_published || last.range.hi != end) return;
  last.is_published = true;
  published_at_[tag] = Scheduler::the().now();
}

std::int64_t Ledger::end_of_drawn(int tag, int store) const {
  const auto end = ends_.find({tag, store});
  return end == ends_.end() ? 0 : end->second;
}

void Ledger::note(int tag, std::int64_t id, int store) {
  ++ids_;
  auto key = static_cast<std::uint64_t>(id) ^ static_cast<std::uint64_t>(tag + 1) << 60;
  // Of several layouts two IDs may be alike.
  if (tag == snowflakes && other_layout_) key ^= static_cast<std::uint64_t>(store) << 62;
  if (all_ids().insert(key) || (may_repeat && may_repeat(tag, id))) return;
  ++repeats_;
  fail(tag == snowflakes ? fmt::format("snowflake ID {} was drawn twice", id)
                         : fmt::format("ID {} of tag {} was drawn twice", id, tag));
}

std::optional<Ledger::Source> Ledger::source_of(int tag, Range ids, int host, int process,
                                                const Layout* layout) {
  Source source;
  /// The end of a grant that holds `from`; `from` itself if there is none.
  const auto end_of_grant = [&](Grants& grants, std::int64_t from, std::int64_t to) {
    for (auto it = grants.upper_bound(from); it != grants.begin();) {
      Grant& grant = (--it)->second;
      if (from >= grant.range.hi || host != grant.host || (process != 0 && process != grant.process))
        continue;
      if (layout != nullptr && layout_of(grant.source.store) != *layout) continue;
      source = grant.source;
      last_granted_at_ = grant.granted_at;
      first_granted_at_ = std::min(first_granted_at_, grant.granted_at);
      if (grant.drawn == 0) grant.first_drawn_at = Scheduler::the().now();
      const std::int64_t end = std::min(to, grant.range.hi);
      grant.drawn += static_cast<std::uint64_t>(end - from);
      return end;
    }
    return from;
  };
  // What was granted piece by piece may be drawn as one.
  first_granted_at_ = never;
  const auto find = [&](Grants& grants, Range range) -> std::optional<Source> {
    while (!range.empty()) {
      const std::int64_t end = end_of_grant(grants, range.lo, range.hi);
      if (end == range.lo) return std::nullopt;
      range.lo = end;
    }
    return source;
  };
  if (tag != snowflakes) return find(tags_[tag], ids);
  const Layout& made_in = layout == nullptr ? layout_ : *layout;
  const DecodedId id = made_in.decompose(ids.lo);
  const std::int64_t begin = id.time.time_since_epoch().count();
  return find(workers_[id.worker], {begin, begin + made_in.unit().count()});
}

int Ledger::drawn(const Call& call, int tag, Range ids, int host, int process, const Layout* layout) {
  const auto source = source_of(tag, ids, host, process, layout);
  for (std::int64_t id = ids.lo; id < ids.hi; ++id) note(tag, id, source ? source->store : 0);
  if (source && !useless_leases_.empty()) useless_leases_.erase(process);
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
  if (first_granted_at_ <= call.order->granted_after) return;
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

std::int64_t Ledger::begun_ranges(int tag, int process, int store) const {
  const auto grants = tags_.find(tag);
  if (grants == tags_.end()) return 0;
  return std::ranges::count_if(grants->second, [&](const auto& entry) {
    const Grant& grant = entry.second;
    return grant.process == process && grant.source.store == store && grant.drawn > 0 &&
           grant.drawn < grant.range.size();
  });
}

std::string Ledger::left_behind(int tag, int process) const {
  const auto grants = tags_.find(tag);
  if (grants == tags_.end()) return {};
  const auto counts = [process](const Grant& grant) {
    return process == 0 ? grant.is_published : grant.is_delivered && grant.process == process;
  };
  // What comes where one lies untouched still has no room: then it is the later one that is lost.
  const auto had_no_room = [&](const Grant& lost) {
    return process != 0 && lost.drawn == 0 && std::ranges::any_of(grants->second, [&](const auto& entry) {
             const Grant& grant = entry.second;
             return counts(grant) && grant.source.store == lost.source.store &&
                    grant.range.lo < lost.range.lo &&
                    (grant.drawn == 0 || grant.first_drawn_at >= lost.delivered_at);
           });
  };
  std::array<bool, 2> is_behind{};  // by store: a later one was drawn from
  for (auto entry = grants->second.rbegin(); entry != grants->second.rend(); ++entry) {
    const Grant& grant = entry->second;
    if (!counts(grant)) continue;
    bool& is_left = is_behind[static_cast<std::size_t>(grant.source.store)];
    if (is_left && grant.drawn < grant.range.size() && !had_no_room(grant))
      return fmt::format("{} IDs of [{}, {}) of tag {} were left, and later ones drawn",
                         grant.range.size() - grant.drawn, grant.range.lo, grant.range.hi, tag);
    is_left = is_left || grant.drawn > 0;
  }
  return {};
}

std::int64_t Ledger::untouched_ranges(int tag) const {
  const auto grants = tags_.find(tag);
  if (grants == tags_.end()) return 0;
  return std::ranges::count_if(grants->second, [](const auto& entry) { return entry.second.drawn == 0; });
}

}  // namespace leaf::simulation
