#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "host/hash.hpp"
#include "host/mark_place.hpp"
#include "host/shared_text.hpp"
#include "leaf/detail/double_buffer.hpp"
#include "leaf/host.hpp"

namespace leaf::host {

/// The version of all that this file declares; a part of the files' names.
inline constexpr std::uint32_t state_format = 3;

/// What a file holds.
enum class FileKind : std::uint32_t {
  tag,         ///< the segments of a tag
  worker,      ///< the windows of a worker
  mark,        ///< how far a tag or worker is known to be granted
  store_name,  ///< which store a name leads to
};

/// Where a file belongs, and to what. Never changed once the file has its name.
struct FileHeader {
  char magic[8];
  std::uint32_t format;
  FileKind kind;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t birth_ns;  ///< of the inode; 0 where the file system does not tell
  char boot[40];
  char name[296];
  char shown_store[512];
  char deployment[40];
  char copy[136];
  std::uint64_t checksum;  ///< of all before it
};
static_assert(std::is_trivially_copyable_v<FileHeader>);

template <class T>
using Shared = std::atomic<T>;

/// How the fetching goes. Written under the lock but for `claimed_until_ms`. Times are Unix milliseconds of
/// the host's clock: a clock that is set back or forward costs a fetch or a pause, nothing else.
struct FetchRecord {
  Shared<std::int64_t> claimed_until_ms{0};  ///< somebody has promised to fetch until then
  Shared<std::int64_t> fetched_at_ms{0};     ///< 0: never
  Shared<std::int64_t> fetched_before_ms{0};
  Shared<std::int64_t> fetcher{0};  ///< the process that took the lock last, by its own number
  Shared<std::int64_t> retry_at_ms{0};
  Shared<std::int64_t> fetches{0};         ///< good ones, ever
  Shared<std::int64_t> failed_fetches{0};  ///< ever
  Shared<std::int32_t> failures{0};        ///< in a row
  Shared<std::int32_t> failure_code{0};
  SharedText<256> failure;
  SharedText<256> failure_hint;
};

/// Only in the file of a tag. Under the lock.
struct TagRecord {
  Shared<std::int64_t> step{0};  ///< leaf::segment::StepHistory, with its time in Unix milliseconds
  Shared<std::int64_t> tag_step{0};
  Shared<std::int64_t> fetches{0};
  Shared<std::int64_t> last_fetch_ms{0};
  Shared<std::int64_t> limit{0};
  Shared<std::int64_t> granted_end{0};  ///< of the last grant, into the buffer or beside it
  Shared<std::int64_t> granted{0};      ///< IDs that were ever put into the buffer
  Shared<std::int64_t> used{0};         ///< of them, taken at the last fetch
  Shared<std::int64_t> used_before{0};  ///< and at the one before it
};

/// Only in the file of a mark.
struct MarkRecord {
  Shared<std::int64_t> highest{0};
};

/// Only in the file of a store's name. Unix milliseconds of the host's clock.
struct NameRecord {
  Shared<std::uint64_t> stamp{0};  ///< of the files that the name goes through, when it was looked up
  Shared<std::int64_t> checked_at_ms{0};
  Shared<std::int64_t> claimed_at_ms{0};  ///< somebody checks, or has failed to: nobody else does for a while
};

/// Only in the file of a worker: what was leased last. Where its time ends only the buffer says: a window
/// that was leased but not published is leased again.
struct WorkerRecord {
  Shared<std::int64_t> begin_ms{0};
  Shared<std::int64_t> worker{0};
  SharedText<40> token;
};

inline constexpr std::size_t remedies_size = 512;

/// What FetchRecord::failure_hint proposes, if it is the hint of that checksum. Under the lock.
struct RemedyRecord {
  Shared<std::uint64_t> checksum_of_hint{0};
  SharedText<remedies_size> lines;
};

/// What lies in a file, which is new when all behind the header is zero.
struct SharedState {
  FileHeader header{};
  range::DoubleBuffer buffer{};

  /// What the buffered ranges come from: the tag's incarnation, or the layout; under the lock. Set before the
  /// first range is published, and then kept: another origin gets another file.
  SharedText<512> origin{};
  Shared<std::uint64_t> origin_checksum{0};  ///< complete before the first range is published too

  FetchRecord fetch{};
  TagRecord tag{};
  WorkerRecord worker{};
  MarkRecord mark{};
  NameRecord store_name{};

  // At the end, so that earlier files stay what they are.
  Shared<std::uint64_t> mark_holder{0};  ///< of `mark`; MarkPlace
  Shared<std::uint32_t> starved{0};      ///< of `tag`: leaf::range::StepHistory
  Shared<std::int64_t> start{0};         ///< of `tag`: where it began; 0 if that is not known
  RemedyRecord remedies{};
  CopyRecords copies{};  ///< of `mark`
  /// process_seal() of `fetch.fetcher`, as the fetcher sees it: its number means nothing to others.
  Shared<std::uint64_t> fetcher_seal{0};
  /// Where the takers of a buffer that was closed had come; 0: it was not.
  Shared<std::int64_t> end_of_taken{0};
  Shared<std::int64_t> locks_taken{0};  ///< ever, of this file
  CopyHolders copy_holders{};           ///< of `copies`
  /// Whoever took the lock last has let go of it by then, unless it has stopped. As the times of FetchRecord.
  Shared<std::int64_t> locked_until_ms{0};
  Shared<std::uint64_t> worker_checksum{0};  ///< of `worker`; 0: none was noted
};

/// 0 where there is none.
inline std::uint64_t checksum_of_origin(const std::string& origin) {
  return origin.empty() ? 0 : Hash().add(origin).value();
}

inline constexpr std::size_t state_size = 4096;
static_assert(sizeof(SharedState) <= state_size);
static_assert(std::is_standard_layout_v<FetchRecord> && std::is_trivially_destructible_v<SharedState>);

}  // namespace leaf::host
