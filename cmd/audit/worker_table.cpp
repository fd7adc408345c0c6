#include "audit/worker_table.hpp"

#include <algorithm>
#include <bit>

namespace leafctl {

WorkerTable::WorkerTable() : slots_(64) {}

void WorkerTable::add_repeat(std::int64_t worker) {
  const std::uint32_t found = slots_[slot_of(worker)];
  if (found != 0) ++workers_[found - 1].repeats;
}

void WorkerTable::forget_repeats() {
  for (WorkerUse& use : workers_) use.repeats = 0;
}

WorkerUse* WorkerTable::find(std::int64_t worker, std::int64_t tick) {
  std::size_t slot = slot_of(worker);
  if (slots_[slot] == 0) {
    if (workers_.size() == most_workers) return nullptr;
    if ((workers_.size() + 1) * 2 > slots_.size()) {
      grow();
      slot = slot_of(worker);
    }
    workers_.push_back({.worker = worker, .first_tick = tick, .last_tick = tick, .tick = tick});
    slots_[slot] = static_cast<std::uint32_t>(workers_.size());
  }
  last_ = slots_[slot] - 1;
  return &workers_[last_];
}

void WorkerTable::note_disorder(WorkerUse& use, std::int64_t tick, std::int64_t sequence) {
  if (tick == use.tick) {
    if (sequence <= use.sequence) ++use.sequence_back;
    return;
  }
  ++use.steps_back;
  use.longest_step = std::max(use.longest_step, use.tick - tick);
  use.first_tick = std::min(use.first_tick, tick);
}

std::size_t WorkerTable::slot_of(std::int64_t worker) const {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;
  const int bits = std::countr_zero(slots_.size());
  std::size_t slot = static_cast<std::uint64_t>(worker) * golden >> (64 - bits);
  while (slots_[slot] != 0 && workers_[slots_[slot] - 1].worker != worker) slot = (slot + 1) % slots_.size();
  return slot;
}

void WorkerTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    slots_[slot_of(workers_[i].worker)] = static_cast<std::uint32_t>(i + 1);
}

}  // namespace leafctl
