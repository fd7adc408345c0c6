#include "simulation/host_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/shared_state.hpp"
#include "simulation/server.hpp"

namespace leaf::simulation {

namespace {

bool is_recorded(const range::DoubleBuffer& buffer, const host::TagRecord& record) {
  const std::int64_t published = buffer.published_end();
  const bool is_of_one_store =
      published == 0 || (published > first_of_another_store) == (record.granted_end > first_of_another_store);
  return published <= record.granted_end && is_of_one_store;
}

bool is_recorded(const range::DoubleBuffer& buffer, const host::WorkerRecord& record,
                 const std::string& origin, const layout::Positions& positions) {
  const std::int64_t published = buffer.published_end();
  if (record.token.empty()) return published == 0;
  const Layout& layout = positions.layout();
  const UnixTime begin{std::chrono::milliseconds(record.begin_ms)};
  if (!origin.empty() && origin != layout.text()) return true;  // the other store's
  if (begin < layout.epoch()) return false;
  const range::DoubleBuffer::View view = buffer.view();
  if (published == 0 || view.has_next || buffer.is_closed()) return true;
  // What was leased since begins behind it, with its first whole unit.
  return record.worker == std::int64_t{view.label} ||
         begin > layout.time_at(positions.ticks_of(published)) - layout.unit();
}

/// Where a store's name leads.
bool is_answer(const Inode& file) {
  return file.size >= sizeof(host::SharedState) &&
         reinterpret_cast<const host::SharedState*>(file.memory)->header.kind == host::FileKind::store_name;
}
/// When that was asked; 0 while the file is being made.
std::int64_t asked_at_ms(const Inode& file) {
  return reinterpret_cast<const host::SharedState*>(file.memory)->store_name.checked_at_ms.peek();
}

/// Else whoever looks takes the file for damaged, and what is buffered is lost.
bool is_origin_recorded(const host::SharedState& state) {
  return state.buffer.published_end() == 0 ||
         state.origin_checksum.peek() == host::checksum_of_origin(state.origin.get());
}

}  // namespace

std::optional<std::string> unrecorded(const Host& host, const layout::Positions& positions) {
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (file->size == 0) continue;  // it was cut
      const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
      const bool is_good =
          is_origin_recorded(state) &&
          (state.header.kind != host::FileKind::tag || is_recorded(state.buffer, state.tag)) &&
          (state.header.kind != host::FileKind::worker ||
           is_recorded(state.buffer, state.worker, state.origin.get(), positions));
      if (!is_good)
        return fmt::format("the buffer of '{}' on host {} holds what is not written down beside it",
                           state.header.name, host.number);
    }
  }
  return std::nullopt;
}

void grow_old(const Inode& file, Random& random) {
  auto& state = *reinterpret_cast<host::SharedState*>(file.memory);
  if (file.size < sizeof state ||
      (state.header.kind != host::FileKind::tag && state.header.kind != host::FileKind::worker))
    return;
  // The word, and the copy of it; then the slots, of which nothing is left but whose turn it was.
  constexpr std::size_t copy = 8, slots = 64, slot_size = 32, turn = 20;
  const auto last = static_cast<std::uint32_t>(-random.between(6, 16));
  std::byte* const buffer = reinterpret_cast<std::byte*>(&state.buffer);
  const std::uint64_t word = range::DoubleBuffer::word_of(last + 3, UINT32_MAX);
  std::memcpy(buffer, &word, sizeof word);
  std::memcpy(buffer + copy, &word, sizeof word);
  for (std::uint32_t generation : {last - 1, last})
    std::memcpy(buffer + slots + (generation & 1) * slot_size + turn, &generation, sizeof generation);
}

void note_locked_answer(Inode& file) {
  if (is_answer(file)) file.asked_when_locked_ms = asked_at_ms(file);
}

std::optional<std::string> note_replaced_answer(const Inode& file) {
  if (!is_answer(file)) return std::nullopt;
  const Process& by = Scheduler::the().process();
  if (file.lock == nullptr || file.lock->process != &by)
    return fmt::format("process {} throws away where a name leads, which it has not compared", by.number);
  by.host->replaces_answer = &Scheduler::the().running();
  by.host->replaced_asked_at_ms = file.asked_when_locked_ms;
  return std::nullopt;
}

std::optional<std::string> note_answers(Host& host, const Fiber* last) {
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (!is_answer(*file)) continue;
      const std::int64_t asked = asked_at_ms(*file);
      // Who notes the same store does not compare.
      if (file->lock != nullptr) file->asked_when_locked_ms = std::min(file->asked_when_locked_ms, asked);
      if (asked == 0 || host.replaces_answer == nullptr) continue;
      const bool is_its_own = std::exchange(host.replaces_answer, nullptr) == last;
      if (is_its_own && asked < host.replaced_asked_at_ms && host.clock_sets == 0)
        return fmt::format("host {} notes an answer in the place of one to what was asked {} ms later",
                           host.number, host.replaced_asked_at_ms - asked);
    }
  }
  return std::nullopt;
}

std::optional<std::string> note_belief(Host& host) {
  const Server& server = Server::the();
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      if (!is_answer(*file)) continue;
      const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
      const std::int64_t asked_at = asked_at_ms(*file);
      if (asked_at == 0) continue;
      if (host.believes_in != state.header.deployment) {
        // What is noted of the store that is left may change while somebody compares it.
        constexpr std::int64_t longest_comparison_ms = 20;
        if (asked_at + longest_comparison_ms < host.asked_at_ms)
          return fmt::format("host {} goes by an answer to what was asked {} ms before it asked last",
                             host.number, host.asked_at_ms - asked_at);
        const bool knew_better = host.believes_in == server.deployment_of(server.store());
        if (knew_better && host.believes_since > server.turned_at())
          return fmt::format("host {} is led back to where its name does not lead any more", host.number);
        host.believes_in = state.header.deployment;
        host.believes_since = Scheduler::the().now();
      }
      host.asked_at_ms = asked_at;
    }
  }
  return std::nullopt;
}

void note_published(const Host& host, Ledger& ledger) {
  const auto& tags = Server::the().tag_names;
  for (const auto& [path, folder] : host.folders) {
    for (const auto& [name, file] : folder->entries) {
      const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
      if (file->size < sizeof state || state.header.kind != host::FileKind::tag) continue;
      const auto tag = std::ranges::find(tags, state.header.name);
      if (tag != tags.end())
        ledger.tag_published(static_cast<int>(tag - tags.begin()), state.buffer.published_end());
    }
  }
}

}  // namespace leaf::simulation
