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
/// worker, in a file that all of them map. Processes that name the same folder and reach the same store, by
/// any name, draw from the same buffers, without a daemon. If a name comes to lead to another store, that is
/// noticed at the next fetch, and within a minute while IDs are drawn and the store can be reached.
///
/// The files are volatile on purpose. They record their boot, device and inode, and are thrown away if one of
/// these or a checksum differs: what was buffered is then lost, never given out twice. They must not be
/// restored from a copy while the system runs, for example by a virtual machine's snapshot or CRIU.
struct HostOptions {
  /// A folder on a file system in memory (tmpfs), owned by the caller, of mode 0700. Created if it does not
  /// exist; its parents are not.
  std::string folder;
  /// Shared by a group of users: the folder has mode 2770, its files 0660. Every member of the group is
  /// trusted.
  bool group = false;
  /// What selects the store besides its URL, such as the variables that libpq reads. Empty: those, as they
  /// are when something is made from these options.
  std::string store_key{};
  /// The files with which the URL is resolved: when one changes, the store is asked for its identity again.
  /// If neither this nor `store_key` says anything, they are libpq's service files.
  std::vector<std::string> store_files{};
  /// False for a short-lived program: nothing is fetched in the background unless it calls claim_fetch() and
  /// fetch() of a SegmentTag or SnowflakeGenerator, perhaps in a child process.
  bool fetch_ahead = true;
  /// Called when the fetches of a buffer begin to fail, fail in another way, or succeed again: once for the
  /// whole host, in the process that fetches, on any of its threads.
  std::function<void(const FetchChange&)> on_fetch_change{};
};

/// True if host state may lie on the file system of `path`: tmpfs or ramfs, which lose nothing until the host
/// is booted again. False if `path` does not exist.
LEAF_EXPORT bool is_file_system_in_memory(const std::string& path);

/// What a host has buffered for one tag or one worker.
struct HostBuffer {
  enum class Kind { tag, worker };

  Kind kind = Kind::tag;
  std::string name;   ///< the tag, or the worker's owner, with the number of one that is pinned
  std::string store;  ///< a URL of it, without a password
  std::string deployment;
  std::string copy;  ///< of the deployment, as of StoreIdentity
  /// The names of its store now lead to another one, such as a restored copy: nobody draws from this buffer
  /// any more.
  bool is_former = false;
  bool in_use = false;              ///< something was granted; otherwise the rest is void
  UnixTime fetched_at;              ///< of the last grant
  std::int64_t fetches = 0;         ///< since the buffer was made
  std::int64_t failed_fetches = 0;  ///< likewise

  // Of a tag.
  Range current;                           ///< what is left of the segment in use
  Range next;                              ///< the one after it; empty if there is none
  std::int64_t step = 0;                   ///< how many IDs the last fetch asked for, at least
  std::int64_t tag_step = 0;               ///< the tag's own
  std::int64_t limit = 0;                  ///< the last ID the tag may give
  std::optional<double> ids_per_second{};  ///< since the fetch before the last one
  std::chrono::milliseconds pace_span{};   ///< how long that was
  std::int64_t drawn = 0;                  ///< since the buffer was made

  // Of a worker.
  std::int64_t worker = 0;
  std::string layout;
  UnixTime window_begin;  ///< the window in use, from the time of the last ID on
  UnixTime window_end;
  UnixTime next_window_end;  ///< equals window_end if there is no next window

  bool damaged = false;  ///< the next draw throws its file away; `failure` names it, the rest is void
  int failures = 0;      ///< fetches that failed since the last good one
  std::string failure;
  std::string failure_hint;
  std::vector<Remedy> failure_remedies{};  ///< that the hint proposes
  UnixTime retry_at;                       ///< if failures > 0: no fetch is tried before

  bool is_of(const StoreIdentity& identity) const {
    return deployment == identity.deployment && copy == identity.copy;
  }
};

/// Everything that is buffered in `options.folder`, of any store: tags first, by name. Changes nothing.
/// Leaves out stale files, such as those of another boot. Empty if there is no such folder. Throws Error
/// (refused) if the folder cannot be trusted.
LEAF_EXPORT std::vector<HostBuffer> host_buffers(const HostOptions& options, Clock& clock = Clock::real());

/// As host_buffers(), for root, in any user's folder: files are read, not mapped, so their owner can do no
/// harm meanwhile. What they say is only as trustworthy as that user. Throws Error (usage) if the folder
/// cannot be read.
LEAF_EXPORT std::vector<HostBuffer> host_buffers_of_any_user(const std::string& folder,
                                                             Clock& clock = Clock::real());

class Store;

/// Asks `store`, which was opened with `url`, for its identity: from now on, this name leads there on this
/// host. Returns where it led before, if that is known and was elsewhere. Throws Error as Store::identity().
LEAF_EXPORT std::optional<StoreIdentity> refresh_store_name(const std::string& url,
                                                            const HostOptions& options, Store& store,
                                                            Clock& clock = Clock::real());

/// Has this host know where `url` leads, by asking `store`, which was opened with it: for draws that leave no
/// buffer. Does nothing if there is no folder. Throws Error as Store::identity().
LEAF_EXPORT void remember_store_name(const std::string& url, const HostOptions& options, Store& store,
                                     Clock& clock = Clock::real());

/// The store that `url` led to when this host last asked; none if it never has, or if that was forgotten.
/// Does not ask the store. Throws Error (`refused`) if the folder is not the caller's.
LEAF_EXPORT std::optional<StoreIdentity> last_known_store(const std::string& url, const HostOptions& options);

/// Gives up the IDs of `tag` below `floor` that this host has buffered from `store`, so that the next one
/// comes from the store. The removal of a tag is then noticed at once. Misses a grant that is on its way
/// while its process makes the buffer anew, as for a tag that was added again. Returns how many were given
/// up. Throws Error: `unavailable` if a fetch that is under way does not end within `timeout`; `refused` as
/// above.
LEAF_EXPORT std::uint64_t drop_host_buffer(const StoreIdentity& store, const HostOptions& options,
                                           const TagName& tag, std::int64_t floor,
                                           std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up the windows that this host has buffered for workers of `owner`, or for `worker` alone, if they
/// lie ahead of the clock by more than `max_backward`, as after a wrong clock. The next window begins at the
/// clock's time, so its IDs are lower than the last ones. Returns how many were given up. Throws as
/// drop_host_buffer().
LEAF_EXPORT int drop_host_windows_ahead(const StoreIdentity& store, const HostOptions& options,
                                        const std::string& owner, std::optional<std::int64_t> worker,
                                        std::chrono::milliseconds max_backward,
                                        std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up everything that this host has buffered from the store that `url` last led to; at its next use,
/// the name is resolved again. What was granted is still remembered. Returns how many buffers were given up.
/// Throws as drop_host_buffer().
LEAF_EXPORT std::size_t forget_store(const std::string& url, const HostOptions& options,
                                     std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up everything that this host has buffered from `store`. Returns how many buffers were given up.
/// Throws as drop_host_buffer().
LEAF_EXPORT std::size_t forget_store(const StoreIdentity& store, const HostOptions& options,
                                     std::chrono::milliseconds timeout, Clock& clock = Clock::real());

/// Gives up the buffers whose last fetch failed, and those that are damaged or former. Returns how many.
/// Throws as drop_host_buffer().
LEAF_EXPORT std::size_t forget_failing_buffers(const HostOptions& options, std::chrono::milliseconds timeout,
                                               Clock& clock = Clock::real());

/// This host's record of grants, for StoreOptions::marks: no process with these marks accepts IDs or time
/// that one of them was granted before, as a store restored from a backup would grant again. If the folder
/// cannot hold files, the marks last as long as the process.
LEAF_EXPORT std::shared_ptr<GrantMarks> host_marks(const HostOptions& options);

/// Why host_marks() would remember nothing beyond the process, such as a folder that others may write to, or
/// that cannot be made. Absent if it would. Leaves nothing behind.
LEAF_EXPORT std::optional<Error> why_no_host_marks(const HostOptions& options);

/// What is wrong with the files that hold these marks: one error for each file whose marks are lost. The next
/// grant replaces a damaged file. Changes nothing.
LEAF_EXPORT std::vector<Error> lost_host_marks(const HostOptions& options);

}  // namespace leaf
