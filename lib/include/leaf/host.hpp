#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/clock.hpp"
#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/layout.hpp"
#include "leaf/range.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"
#include "leaf/worker.hpp"

namespace leaf {

class GrantMarks;

/// A buffer whose fetches begin to fail, or succeed again.
struct FetchChange {
  std::string what;     ///< such as "segment of tag 'order'"
  std::string store;    ///< a URL of it, without a password
  std::string failure;  ///< empty: it succeeds again
  std::string hint;
  std::vector<Remedy> remedies{};  ///< that the hint proposes
};

/// Where the processes of one host share what the store has granted to them: a buffer for each tag and each
/// worker, in a file that all of them map. All that name the same folder and reach the same store, by
/// whatever name, draw from the same buffers, without a daemon. A name that leads to another store is noticed
/// at the next fetch, and within a minute while IDs are drawn and the store can be reached.
///
/// The files are volatile on purpose. They name the boot, the device and the inode that they belong to, and
/// are thrown away where one differs or a checksum does: what was buffered is lost then, and never given out
/// twice. They must
/// not be put back from a copy while the system runs, as snapshots of a virtual machine and CRIU do.
struct HostOptions {
  /// A folder on a local file system, of mode 0700 and the caller's own; made if it does not exist, but not
  /// its parents.
  std::string folder;
  /// Shared by a group of users: the folder has mode 2770, its files 0660. Whoever is in the group is
  /// trusted.
  bool group = false;
  /// Whatever leads to the store besides its URL, such as the variables that libpq reads.
  std::string store_key{};
  /// The files that the URL goes through, such as libpq's service files: when one changes, the store is asked
  /// anew which one it is.
  std::vector<std::string> store_files{};
  /// False for a program that ends soon: nothing is fetched in the background then but where claim_fetch()
  /// and fetch() of a SegmentTag or SnowflakeGenerator are called, perhaps in a child process.
  bool fetch_ahead = true;
  /// Told of the first fetch of a buffer that fails, of another one that fails otherwise, and of the first
  /// good one after them: once for all processes of the host, in the one that fetches, by whatever thread of
  /// it.
  std::function<void(const FetchChange&)> on_fetch_change{};
};

/// True if the file system of `path` is one that host state may lie on: local, and none that is stacked on
/// others (overlay, FUSE) or comes over a network. False also if `path` does not exist.
LEAF_EXPORT bool is_local_file_system(const std::string& path);

/// What a host has buffered of one tag, or for one worker.
struct HostBuffer {
  enum class Kind { tag, worker };

  Kind kind = Kind::tag;
  std::string name;   ///< the tag, or the worker's owner
  std::string store;  ///< a URL of it, without a password
  std::string deployment;
  std::string copy;  ///< of the deployment, as of StoreIdentity
  /// The names that led to its store lead to another one by now, such as a copy that was put back: nobody
  /// draws from it any more.
  bool is_former = false;
  bool in_use = false;              ///< something was ever granted; what follows is void otherwise
  UnixTime fetched_at;              ///< of the last grant
  std::int64_t fetches = 0;         ///< since the buffer was made
  std::int64_t failed_fetches = 0;  ///< likewise

  // Of a tag.
  Range current;                           ///< what is left of the segment in use
  Range next;                              ///< the one after it; empty if there is none
  std::int64_t step = 0;                   ///< how many IDs the last fetch asked for at least
  std::int64_t tag_step = 0;               ///< the tag's own
  std::int64_t limit = 0;                  ///< the last ID the tag may give
  std::optional<double> ids_per_second{};  ///< since the fetch before the last one
  std::chrono::milliseconds pace_span{};   ///< how long that was
  std::int64_t drawn = 0;                  ///< since the buffer was made

  // Of a worker.
  std::int64_t worker = 0;
  std::string layout;
  UnixTime window_begin;  ///< the window in use, from the time that the last ID was made for
  UnixTime window_end;
  UnixTime next_window_end;  ///< as window_end if there is no next one

  bool damaged = false;  ///< its file: who draws next throws it away; `failure` names it, what else is void
  int failures = 0;      ///< fetches that failed since the last good one
  std::string failure;
  std::string failure_hint;
  std::vector<Remedy> failure_remedies{};  ///< that the hint proposes
  UnixTime retry_at;                       ///< when failures > 0: no fetch is tried earlier
};

/// Everything that is buffered in `options.folder`, of any store: tags first, by name. Nothing is changed.
/// Files that do not count any more, of another boot for example, are left out. Empty if there is no such
/// folder. Throws Error (refused) if the folder is not to be trusted.
LEAF_EXPORT std::vector<HostBuffer> host_buffers(const HostOptions& options, Clock& clock = Clock::real());

/// As host_buffers(), in the folder of whatever user, for root: files are read, not mapped, so that nothing
/// that their owner does meanwhile does any harm. What they say is that user's word. Throws Error (usage) if
/// the folder cannot be read.
LEAF_EXPORT std::vector<HostBuffer> host_buffers_of_any_user(const std::string& folder,
                                                             Clock& clock = Clock::real());

class Store;

/// Asks `store`, which was made of `url`, which one it is, and has this host go by that from now on. Returns
/// where the name led until now, if that is known and was elsewhere. Throws Error as Store::identity().
LEAF_EXPORT std::optional<StoreIdentity> refresh_store_name(const std::string& url,
                                                            const HostOptions& options, Store& store,
                                                            Clock& clock = Clock::real());

/// Gives up the IDs of `tag` below `floor` that this host has buffered of `store`, so that the next one comes
/// from the store; a tag that was removed is found out at once then. Returns how many were given up. Throws
/// Error: `unavailable` if a fetch that is under way does not end within `timeout`; `refused` as above.
LEAF_EXPORT std::uint64_t drop_host_buffer(const StoreIdentity& store, const HostOptions& options,
                                           const TagName& tag, std::int64_t floor,
                                           std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up the windows that this host has buffered for workers of `owner`, or for `worker` alone, if they
/// lie ahead of the clock by more than `max_backward`, as a clock that was wrong leaves them. What is leased
/// next begins by the clock, and its IDs are lower than the last ones of before. Returns how many were given
/// up. Throws as drop_host_buffer().
LEAF_EXPORT int drop_host_windows_ahead(const StoreIdentity& store, const HostOptions& options,
                                        const std::string& owner, std::optional<std::int64_t> worker,
                                        std::chrono::milliseconds max_backward,
                                        std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up all that this host has buffered of the store that `url` led to last, and asks anew where it leads
/// when it is used again. What was granted is remembered all the same. Returns how many buffers were given
/// up. Throws as drop_host_buffer().
LEAF_EXPORT std::size_t forget_store(const std::string& url, const HostOptions& options,
                                     std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up all that this host has buffered of `store`. Returns how many buffers were given up. Throws as
/// drop_host_buffer().
LEAF_EXPORT std::size_t forget_store(const StoreIdentity& store, const HostOptions& options,
                                     std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up the buffers whose last fetch has failed, and those that are damaged or former. Returns how many.
/// Throws as drop_host_buffer().
LEAF_EXPORT std::size_t forget_failing_buffers(const HostOptions& options, std::chrono::milliseconds timeout,
                                               Clock& clock = Clock::real());

/// What this host remembers of grants, for StoreOptions::marks: no process of it that has these marks takes
/// IDs or time that one of them was granted before, as a store that was put back to a backup would grant it.
/// Where there can be no files in the folder, what is remembered goes with the process.
LEAF_EXPORT std::shared_ptr<GrantMarks> host_marks(const HostOptions& options);

/// Why host_marks() would remember nothing beyond the process, such as a folder that others may write in;
/// nothing where it would, also where there is no folder yet.
LEAF_EXPORT std::optional<Error> why_no_host_marks(const HostOptions& options);

/// What is wrong with the files in the folder that hold what this host remembers, one error for each: what
/// it held is forgotten. Replaced by the next grant is one that is damaged. Changes nothing.
LEAF_EXPORT std::vector<Error> lost_host_marks(const HostOptions& options);

}  // namespace leaf
