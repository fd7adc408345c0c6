#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace leaf::simulation {

/// How many more points the fiber that runs passes before another one may.
extern std::int64_t points_left;
/// What the files of all hosts lie in.
extern std::byte* const files_begin;
inline constexpr std::size_t files_room = std::size_t{64} << 20;
/// Whether a file was written to, or has come into a folder, since this was set to false.
extern bool has_written;
/// How many more moments pass before whoever is at one straggles.
extern std::int64_t moments_left;
void straggle();

/// A moment at which somebody has just learned, or changed, what others rely on.
inline void moment() {
  if (--moments_left < 0) [[unlikely]]
    straggle();
}

inline bool is_in_file(const void* place) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(place) - files_begin) < files_room;
}
/// Whoever touches what its process has not mapped any more would crash.
void require_mapped(const void* place);

// Said of an atomic.

inline void note_read(const void* place) {
  if (is_in_file(place)) require_mapped(place);
}
inline void note_write(const void* place) {
  moment();
  if (!is_in_file(place)) return;
  require_mapped(place);
  has_written = true;
}
/// Called at the last of them, which is at that place of the code.
void preempt(const std::source_location& where);

/// Here another thread may run, the process may die, or anything else may happen.
inline void point(const std::source_location& where = std::source_location::current()) {
  if (--points_left < 0) [[unlikely]]
    preempt(where);
}

}  // namespace leaf::simulation
