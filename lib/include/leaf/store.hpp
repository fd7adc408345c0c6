#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/clock.hpp"
#include "leaf/event.hpp"
#include "leaf/export.hpp"
#include "leaf/failover.hpp"
#include "leaf/health.hpp"
#include "leaf/layout.hpp"
#include "leaf/range.hpp"
#include "leaf/store_identity.hpp"
#include "leaf/tag.hpp"
#include "leaf/worker.hpp"

namespace leaf {

class GrantMarks;
class Import;

struct StoreOptions {
  /// `sqlite:PATH`, or anything libpq takes: a `postgresql://` URL, `service=...`, key=value pairs.
  std::string url;
  /// How long one call may take in all, retries included. Zero: the store is tried once, without waiting for
  /// it to come back; that attempt may take a second, so that an answer has time to arrive.
  std::chrono::milliseconds timeout{5000};
  /// The program's name in the database, such as PostgreSQL's application_name if the URL sets none. Empty:
  /// the short name of the running program.
  std::string program{};
  /// Borrowed; must outlive whatever is made from these options.
  Clock* clock = &Clock::real();
  /// What was granted before: nothing lower is accepted. Absent: whatever is made from these options has
  /// marks of its own, and does not notice that the store was restored before. See host_marks() for those of
  /// a host, and HostDefaults::store_options().
  std::shared_ptr<GrantMarks> marks{};
  /// What libpq takes from the environment besides the URL, as HostOptions::store_key has it: once that has
  /// changed, no new connection is made. Absent: as it is when something is made from these options.
  std::optional<std::string> variables{};
  /// Called at the beginning of each call of a Store; what it returns lives until the call ends. May be null.
  std::function<std::shared_ptr<void>()> while_asked{};
};

/// A segment that the store has durably given to the caller and to nobody else.
struct Grant {
  Range range;
  std::int64_t step = 0;   ///< the tag's own step at that moment
  std::int64_t limit = 0;  ///< the last ID the tag may give; max_id if it has none
  std::int64_t start = 0;  ///< the first ID that it ever had; 1 where that is not known
  std::string incarnation;
  StoreIdentity store;  ///< the one that granted it
};

/// A migration that a store still lacks.
struct Migration {
  int number = 0;  ///< 0: not a migration; it recreates the log of changes
  std::string name;
  std::string sql;
  /// The schema version that a program must know from then on; if it equals `number`, all earlier programs
  /// are refused.
  int minimum_reader = 0;
};

/// An object that another role has made where the store's tables are or will be, or that would run its code.
struct ForeignObject {
  std::string what;    ///< such as "table public.leaf_alloc"
  std::string owner;   ///< the role
  std::string remedy;  ///< the SQL that takes it over or drops it; empty if only the owner can

  friend bool operator==(const ForeignObject&, const ForeignObject&) = default;
};

/// How a store is made. What is absent is as in any new store.
struct NewStore {
  std::optional<Layout> layout{};             ///< see Store::set_layout()
  std::optional<WorkerRange> workers{};       ///< see Store::set_worker_range()
  std::optional<std::int64_t> guard_steps{};  ///< see Store::set_guard_steps()
  std::optional<std::string> runtime_role{};  ///< see Store::grant_runtime_role()
  std::optional<std::string> functions{};     ///< their schema; see Store::install_functions()
};

/// Administers one store, and takes single grants from it. It connects when first needed, and again after the
/// connection was lost. Use one object from one thread at a time, and not across fork().
///
/// Besides what its comment names, every call may throw Error: `unavailable` if the store cannot be reached
/// or does not answer in time; `usage` if it refuses the login, or has no schema, an older one, or one that
/// requires a later release. Grants and leases throw `refused` if the store has gone back and would grant
/// again what it granted before.
class LEAF_EXPORT Store {
 public:
  /// Looks at the URL only. Throws Error (usage) if it is not one.
  explicit Store(const StoreOptions& options);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// How long each further call may take in all, zero as in StoreOptions; none goes on after `latest`. Throws
  /// Error (usage) if the timeout is negative.
  void set_timeout(std::chrono::milliseconds timeout,
                   std::optional<std::chrono::steady_clock::time_point> latest = {});

  /// Brings the schema up to date, or creates it, in one transaction and under a lock. Returns the migrations
  /// that were applied: none if it was current, or is newer and fits this program. Takes over a table
  /// `leaf_alloc` that Leaf's users made, with its rows, and takes over or drops the foreign objects in
  /// `adopted`. Throws `refused` if there are others. If there is no store yet, the same transaction makes it
  /// as `if_new` says, so that nobody ever finds it otherwise; if that is not possible, throws as the
  /// functions named in NewStore do, and makes nothing. An existing store keeps what it has.
  std::vector<Migration> migrate(const std::vector<ForeignObject>& adopted = {}, const NewStore& if_new = {});
  /// The objects of other roles whose code would run as the current role when it changes the tables. Throws
  /// `usage` for a store without roles.
  std::vector<ForeignObject> foreign_objects();
  /// What migrate() would apply: everything if there is no store yet. Does not create one.
  std::vector<Migration> pending_migrations();
  /// The SQL, in one transaction, that does what migrate() would; empty if there is nothing to do.
  std::string migration_script(const std::vector<ForeignObject>& adopted = {});
  /// Lets a role of the database draw IDs and lease workers, and nothing else: its other rights on the
  /// store's tables are revoked. It can still use up IDs and workers, keep workers from their owners, and
  /// make others wait for its locks. Throws `usage` for a store without roles, and for a role that does not
  /// exist or owns the tables; `refused` if the role could do more in other ways, such as through a role that
  /// it is a member of. If it throws, the role keeps the rights that it had.
  void grant_runtime_role(const std::string& role);
  /// The SQL, in one transaction, that does what grant_runtime_role() would. Throws `usage` for a store
  /// without roles.
  std::string runtime_role_script(const std::string& role);
  /// Makes functions for working with IDs in the database itself, or replaces earlier ones: `leaf_time(id)`,
  /// `leaf_worker(id)`, `leaf_sequence(id)`, `leaf_id_at(time)` and `leaf_bounds(from, to)` for the present
  /// layout, and `leaf_next(tag)` and `leaf_next(tag, n)`, which draw IDs in the caller's transaction. An
  /// empty `schema` is that of the tables. They have to be made again if the layout or the deployment
  /// changes: see StoreHealth::functions. Returns the schema. Throws `usage` for a store that can have none,
  /// a schema that does not exist, and a role that is not the tables' owner; `refused` if the schema has
  /// other functions with these names, or functions of another role.
  std::string install_functions(const std::string& schema = {});
  /// The SQL, in one transaction, that does by hand what install_functions() would. Throws `usage` for a
  /// store that can have none, and a schema that does not exist.
  std::string functions_script(const std::string& schema = {});
  /// Asks the store for its identity.
  StoreIdentity identity();
  /// Loads the driver of the store's database, which the first call does otherwise: packages may then be
  /// upgraded while the program runs. Asks the store nothing. Throws Error: `usage` if the driver is
  /// not installed, `unavailable` if it belongs to another version of the library, as it may for a moment
  /// while packages are upgraded.
  void load_driver();
  /// The next call connects anew if the last one was not made with these `files`, a number that identifies
  /// the state of the files with which the URL is resolved, or if its answer came from another store than
  /// `leads_to`, to which the name is known to lead by now.
  void connect_by(std::uint64_t files, const std::optional<StoreIdentity>& leads_to);
  /// Makes the store a deployment of its own instead of `former`, and leaves tags and workers as they are:
  /// for a copy whose IDs are never mixed with the original's. Hosts give up what they have buffered from
  /// `former` at the next fetch, or within a minute; what they remember of it (see StoreOptions::marks) no
  /// longer applies here. Returns the new identity. Throws `refused` if the store is not `former`; `usage`
  /// for a role that does not own the tables.
  StoreIdentity begin_new_deployment(const std::string& former);

  /// How many steps a tag leaves out at its first change on another server than that of its last one, which
  /// may lack commits: after a failover, or a restore from a backup. Absent: the store has no server.
  std::optional<std::int64_t> guard_steps();
  /// Throws `usage` below 0 or above 2^31-1, and for a store without a server.
  void set_guard_steps(std::int64_t steps);
  /// Throws what set_guard_steps() would, and changes nothing; needs no schema.
  void require_guard_steps(std::int64_t steps);

  /// What the guard has noticed and what waits for it; changes nothing. Throws `usage` for a store without a
  /// server.
  Failover failover();
  /// Settles what failover() has `seen` on this server: tags leave out the guard now, and the wait for
  /// workers begins. With Commits::all_there, tags go on where they were, and workers are leased at once; but
  /// what has been waiting since an earlier server took over is settled as if commits may be lost. If commits
  /// were lost after all, IDs repeat. Returns the tags that waited. Throws `refused` if another server has
  /// taken over meanwhile, and as failover().
  std::vector<FailoverTag> settle_failover(const Failover& seen, Commits commits);

  /// Looks at the store and changes nothing; needs neither a schema nor any rights.
  StoreHealth health();

  /// Adds a tag and returns it as stored. A tag that was removed comes back with a new incarnation and goes
  /// on where it ended. A tag that exists with the same values is not an error. Throws `usage` for values out
  /// of bounds, `failed` if the tag exists with other values or has already given out `start`, `refused` as
  /// require_above_granted().
  Tag add_tag(const NewTag& tag);
  /// Throws `refused` if the store has no such tag, but IDs from its start on are known to be granted (see
  /// StoreOptions::marks): the store has lost it. Without a `start`, it goes on where a removed one ended.
  void require_above_granted(const NewTag& tag);
  /// Where a removed tag of that name ended: the first ID that it has not given out. Absent if there is none.
  std::optional<std::int64_t> end_of_removed(const TagName& name);
  /// All tags that are not removed, by name.
  std::vector<Tag> tags();
  /// The same, and those that are removed: what another store has to know so that it repeats no ID.
  std::vector<Tag> all_tags();
  /// Throws `not_found`.
  Tag tag(const TagName& name);
  /// Names of tags that may have been meant by `name`, if there is no such tag: about as long, or beginning
  /// with it. In no particular order, and no more than `at_most`, so that a store with very many tags is not
  /// read as a whole.
  std::vector<std::string> similar_tags(const TagName& name, std::int64_t at_most = 10'000);
  /// Returns the tag as it is afterwards. Throws `not_found`, `usage` for values out of bounds.
  Tag update_tag(const TagName& name, const TagChange& change);
  /// Leaves a tombstone, so that the tag cannot come back lower. Throws `not_found`.
  void remove_tag(const TagName& name);

  /// Who added, changed, raised or removed tags and freed workers from `since` on, in order; the last 10,000
  /// events of tags, and of workers, are kept. Of one tag alone if it is given. Needs more rights than grants
  /// do.
  std::vector<Event> events(const std::optional<TagName>& tag = {}, UnixTime since = {});

  /// Grants exactly `count` IDs, all or none. Throws `not_found`; `exhausted` if fewer are left; `refused` if
  /// the store does not commit durably. IDs of an attempt whose outcome is unknown are lost.
  Grant grant(const TagName& name, std::int64_t count);
  /// Grants max(the tag's step, wish) IDs, or what is left below the limit. Throws as grant() does.
  Grant grant_segment(const TagName& name, std::int64_t wish = 0);

  /// The end of the IDs of a tag that are known to be granted in this deployment (see StoreOptions::marks); 0
  /// if none are. While the tag's next ID is lower, grants are refused.
  std::int64_t granted_mark(const TagName& name);

  /// The tags that the store has lost, by name, as far as this host can tell (see StoreOptions::marks).
  std::vector<LostTag> lost_tags();

  /// The layout of all snowflake IDs of this deployment; `leaf` until it is set.
  Layout layout();
  /// Throws `refused`, as acquire_worker() would, if this host has leased time in another layout (see
  /// StoreOptions::marks): the store has gone back.
  void check_layout();
  /// Throws `usage` if a worker was already acquired with another layout, or the layout lacks some of
  /// worker_range(); `refused` if this host knows of such a worker that the store lacks; `unavailable` while
  /// there may be such windows that the store does not know: see acquire_worker().
  void set_layout(const Layout& layout);
  /// Sets layout and workers, or neither: as set_layout() and set_worker_range().
  void set_layout(const Layout& layout, const std::optional<WorkerRange>& workers);

  /// The workers that this store leases: all of the layout unless a range is set. The store itself enforces
  /// it, whatever program asks.
  WorkerRange worker_range();
  /// Absent: all of the layout, whatever that is. Two stores with the same layout whose ranges have no worker
  /// in common make no snowflake ID in common. Throws `usage` if the layout lacks some of the range;
  /// `refused` while a worker outside of it is leased, until its window is over; `unavailable` for a narrower
  /// range while there may be such windows that the store does not know: see acquire_worker().
  void set_worker_range(const std::optional<WorkerRange>& range);

  /// All workers ever acquired, by number.
  std::vector<Worker> workers();
  /// Leases a worker and a first window: one that this owner held and whose window is over, else the lowest
  /// free one, else one never used, else one whose owner was silent for `recycle_after`. Windows of one
  /// worker never overlap. Throws `unavailable` after a failover or restore, while the store may lack leases
  /// that are still in use; `exhausted` if all of worker_range() are taken; `usage` if the layout is not the
  /// expected one, or the worker asked for is outside of that range; `refused` if the one asked for is held,
  /// or if a clock cannot be trusted: the host's is off the store's by more than `max_skew`, behind an
  /// earlier grant to this owner by more than that, or behind what this owner has made by more than
  /// `max_backward`; `exhausted` outside of the layout's time. If it throws, nothing is leased, and other
  /// owners go on. Once a clock that was ahead is set right, release_workers() lets its owner start over.
  WorkerLease acquire_worker(const WorkerRequest& request);
  /// As acquire_worker(), but waits for a worker that will be free within the timeout if none is now.
  WorkerLease await_worker(const WorkerRequest& request);
  /// Throws what acquire_worker() would throw for a SnowflakeGenerator, except for what clocks or a failover
  /// forbid: `usage`, `exhausted`, and `refused` also if this host knows (see StoreOptions::marks) that the
  /// worker which it would choose has been leased for later: the store has gone back. Who `has_lease` goes on
  /// with that, so only the latter is looked at. Leases nothing.
  void check_lease(WorkerRequest request, bool has_lease = false);
  /// Leases the window that follows `lease.end`, at least `request.window` long and not in the past. Throws
  /// `not_found` if the worker was recycled meanwhile, or may have been: if `lease` is over and the
  /// database's server has changed; `unavailable` if another copy of `lease.store` answered, unless that is
  /// empty; `refused` and `exhausted` as above.
  WorkerLease renew_worker(const WorkerLease& lease, const WorkerRequest& request);
  /// Gives back the time after `used_until`, which is taken for no earlier than `lease.begin`; the lease must
  /// not be used any more. False if the worker was recycled.
  bool give_up_worker(const WorkerLease& lease, UnixTime used_until);
  /// As give_up_worker(), and frees the worker for any owner, who gets only later time. The store forgets
  /// this owner: nothing keeps its next IDs above these.
  bool release_worker(const WorkerLease& lease, UnixTime used_until);
  /// Frees a worker for others, who get only time after its last window. Throws `not_found` if it is not
  /// held; `refused` if its window is not over, unless `force`.
  void recycle_worker(std::int64_t worker, bool force);
  /// Frees all workers that `owner` holds, or `worker` alone, for others, who get only time after their last
  /// windows. Returns their numbers. If `worker` is given, throws `not_found` if it is not held, `refused` if
  /// by another owner.
  std::vector<std::int64_t> release_workers(const std::string& owner,
                                            std::optional<std::int64_t> worker = {});
  /// Frees all workers whose window is over and whose owner was silent for that long; returns their numbers.
  std::vector<std::int64_t> recycle_silent_workers(std::chrono::milliseconds recycle_after);

 private:
  friend class Import;
  class Impl;
  void set_pool(const std::optional<Layout>& layout, const std::optional<WorkerRange>& range);
  WorkerLease acquire(const WorkerRequest& request, bool waits);

  std::unique_ptr<Impl> impl_;
};

/// The URL as it may be shown: with '***' in place of its password.
LEAF_EXPORT std::string redact_url(std::string_view url);

}  // namespace leaf
