#include "simulation/damages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/shared_state.hpp"
#include "simulation/scheduler.hpp"

namespace leaf::simulation {

namespace {

using host::SharedState;
using Part = Damages::Part;

/// Every second somebody looks, and notes; a moment more until it is done.
constexpr Time until_noticed = 2 * second;

constexpr std::size_t word = offsetof(SharedState, buffer);
constexpr std::size_t slots = word + 64;
constexpr std::size_t slot_size = 32;
/// A UUID, or the text of a layout.
constexpr std::size_t shortest_origin = 24;

struct Place {
  std::size_t begin;
  std::size_t size;
  Part part;
};
constexpr Place places[] = {
    {0, sizeof(host::FileHeader), Part::header},
    {word, 16, Part::cursor},
    {slots, 12, Part::range},  // its begin and its size
    {slots + slot_size, 12, Part::range},
    {slots + 16, 4, Part::range},  // its label
    {slots + slot_size + 16, 4, Part::range},
    {slots + 12, 4, Part::checksum},  // its mark
    {slots + slot_size + 12, 4, Part::checksum},
    {slots + 20, 12, Part::checksum},  // its turn and its checksum
    {slots + slot_size + 20, 12, Part::checksum},
    {offsetof(SharedState, origin), shortest_origin, Part::origin},
    {offsetof(SharedState, origin_checksum), sizeof(SharedState::origin_checksum),
     Part::checksum},  // each fetch writes it
    {offsetof(SharedState, fetch), sizeof(SharedState) - offsetof(SharedState, fetch), Part::record},
    {offsetof(SharedState, tag), sizeof(SharedState::tag), Part::record},
    {offsetof(SharedState, end_of_taken), sizeof(SharedState::end_of_taken), Part::record},
};

SharedState& state_of(const Inode& file) {
  return *reinterpret_cast<SharedState*>(file.memory);
}

/// As a page of memory that holds what it held before.
void set_cursor_back(Inode& file, Random& random) {
  std::uint64_t now = 0;
  std::memcpy(&now, file.memory + word, sizeof now);
  const std::uint32_t offset = range::DoubleBuffer::offset_of(now);
  if (offset != 0 && offset != UINT32_MAX) now -= static_cast<std::uint64_t>(random.between(1, offset));
  std::memcpy(file.memory + word, &now, sizeof now);
}

Part change(Inode& file, Random& random) {
  const Place& place = places[static_cast<std::size_t>(random.below(std::ssize(places)))];
  const bool has_published = state_of(file).buffer.published_end() != 0;
  if (place.part == Part::cursor && random.one_in(2)) {
    set_cursor_back(file, random);
    return place.part;
  }
  const auto at = place.begin + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(place.size)));
  file.memory[at] ^=
      static_cast<std::byte>(random.one_in(2) ? std::int64_t{1} << random.below(8) : random.between(1, 255));
  // What is not written yet is written with the first range.
  return place.part == Part::origin && !has_published ? Part::record : place.part;
}

}  // namespace

bool Damages::is_known(const std::shared_ptr<Inode>& file) const {
  return std::ranges::any_of(damages_, [&](const Damage& damage) { return damage.file == file; });
}

std::optional<Part> Damages::damage_one(Host& host, Random& random, Log& log) {
  std::vector<std::shared_ptr<Inode>> files, locked;
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->size < sizeof(SharedState) || name.starts_with("mark-") || is_known(file)) continue;
      files.push_back(file);
      if (file->lock != nullptr) locked.push_back(file);
    }
  }
  if (!locked.empty() && random.one_in(2)) files = std::move(locked);
  if (files.empty()) return std::nullopt;
  const auto& file = files[static_cast<std::size_t>(random.below(std::ssize(files)))];
  std::string of = state_of(*file).header.name;
  const Part part = change(*file, random);
  log.note("damage", 0, host.number, static_cast<std::int64_t>(part));
  log.say("of", 0, of);
  note(host, file, std::move(of), part);
  return part;
}

bool Damages::rewind_one(Host& host, Random& random, Log& log) {
  std::vector<std::shared_ptr<Inode>> drawn_from;
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->size < sizeof(SharedState) || is_known(file)) continue;
      if (range::DoubleBuffer::end_of_taken(state_of(*file).buffer.view()) > 0) drawn_from.push_back(file);
    }
  }
  if (drawn_from.empty()) return false;
  const auto& file = drawn_from[static_cast<std::size_t>(random.below(std::ssize(drawn_from)))];
  std::uint64_t now = 0;
  std::memcpy(&now, file->memory + word, sizeof now);
  const std::int64_t offset = range::DoubleBuffer::offset_of(now);
  if (offset == 0) return false;
  now -= static_cast<std::uint64_t>(random.spread(1, offset));
  std::memcpy(file->memory + word, &now, sizeof now);
  log.note("rewind", 0, host.number, static_cast<std::int64_t>(range::DoubleBuffer::offset_of(now)));
  note(host, file, state_of(*file).header.name, Part::cursor);
  return true;
}

void Damages::note(Host& host, const std::shared_ptr<Inode>& file, std::string of, Part part) {
  Damage damage{.host = &host, .file = file, .of = std::move(of), .part = part, .at = Scheduler::the().now()};
  for (const Process* const process : host.processes)
    damage.kept_waiting[process] = Scheduler::the().kept_waiting(*process);
  damages_.push_back(std::move(damage));
}

/// By a call that was begun then.
bool Damages::is_unnoticed(const Damage& damage, const Process& process, Time begun) {
  const auto then = damage.kept_waiting.find(&process);
  if (then == damage.kept_waiting.end()) return false;  // it has looked when it began
  return begun - damage.at - (Scheduler::the().kept_waiting(process) - then->second) < until_noticed;
}

/// It may be told of IDs that nobody granted.
bool Damages::is_excused(const Damage& damage, const Process& process, Time begun) {
  return (damage.part == Part::range || damage.part == Part::cursor) && damage.host == process.host &&
         is_unnoticed(damage, process, begun);
}

bool Damages::is_excused(const Process& process, const std::string& of, Time begun) const {
  return std::ranges::any_of(
      damages_, [&](const Damage& damage) { return damage.of == of && is_excused(damage, process, begun); });
}

bool Damages::is_excused(const Process& process, Time begun) const {
  return std::ranges::any_of(damages_,
                             [&](const Damage& damage) { return is_excused(damage, process, begun); });
}

bool Damages::is_order_excused(const Process& process, const std::string& of, Time begun) const {
  return std::ranges::any_of(damages_, [&](const Damage& damage) {
    return damage.part == Part::header && damage.host == process.host && damage.of == of &&
           is_unnoticed(damage, process, begun);
  });
}

std::optional<std::string> Damages::not_thrown_away(const Process& process, const std::string& of,
                                                    Time begun) const {
  for (const Damage& damage : damages_) {
    if (damage.part != Part::header && damage.part != Part::origin) continue;
    if (damage.host != process.host || damage.of != of || damage.file->links == 0) continue;
    if (!is_unnoticed(damage, process, begun))
      return fmt::format("process {} draws from the file of '{}', which is damaged", process.number, of);
  }
  return std::nullopt;
}

void Damages::note_drawn(int tag, std::int64_t id, const Process& process) {
  const Scheduler& scheduler = Scheduler::the();
  drawn_[{tag, id}] = {
      .by = &process, .at = scheduler.now(), .kept_waiting = scheduler.kept_waiting(process)};
}

/// Whoever draws on notes every second what was drawn; who dies does not.
bool Damages::is_unnoted(const Drawn& drawn, const Damage& damage) const {
  const Process& process = *drawn.by;
  Time end = damage.at, kept_waiting = process.kept_waiting;
  if (process.died_at != 0 && process.died_at <= damage.at) {
    end = process.died_at;
  } else if (const auto then = damage.kept_waiting.find(&process); then != damage.kept_waiting.end()) {
    kept_waiting = then->second;
  } else if (drawn.at < damage.at) {
    return false;  // it has ended
  }
  return end - drawn.at - (kept_waiting - drawn.kept_waiting) < until_noticed;
}

bool Damages::may_repeat(int tag, std::int64_t id) const {
  const auto found = drawn_.find({tag, id});
  if (found == drawn_.end()) return false;
  const Drawn& drawn = found->second;
  return std::ranges::any_of(damages_, [&](const Damage& damage) {
    return damage.part == Part::cursor && damage.host == drawn.by->host && drawn.at < damage.at &&
           is_unnoted(drawn, damage);
  });
}

std::optional<std::string> Damages::not_forgotten(const Host& host, Time since) const {
  for (const Damage& damage : damages_) {
    if (damage.host != &host || damage.part != Part::origin || damage.at >= since) continue;
    if (damage.file->links > 0)
      return fmt::format("the damaged file of '{}' is there still, although it was to be forgotten",
                         damage.of);
  }
  return std::nullopt;
}

}  // namespace leaf::simulation
