#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/folder.hpp"
#include "host/fork_mutex.hpp"
#include "host/state_file.hpp"
#include "host/store_name.hpp"
#include "host/store_pool.hpp"
#include "leaf/store.hpp"
#include "range/fetcher.hpp"
#include "range/store_changes.hpp"

namespace leaf::host {

/// What the ranges of one host and store may share, so that each takes fewer descriptors; null: one of its
/// own.
struct Commons {
  std::shared_ptr<CurrentFolder> folder{};
  std::shared_ptr<StorePool> stores{};
};

/// Ranges that the processes of a host share. They are fetched by one at a time for the whole host, who holds
/// the lock of their file; while that fails, after pauses that grow and that all keep to.
///
/// It belongs to a store, not to a name of it: where the name leads elsewhere takers go to that store's
/// buffer. Thread safe. After fork() the child may go on with it: no connection is used by two processes.
class SharedRanges : public range::RangeSource {
 public:
  /// Opens the file of the granter's name, if this host knows which store the URL leads to; else that is
  /// asked when it is needed. `key` tells the file from others of its kind. `fetcher` fetches in the
  /// background; null: the embedding program does. Throws Error as StateFile::open() does.
  SharedRanges(std::unique_ptr<const range::Granter> granter, FileKind kind, const std::string& key,
               const StoreOptions& store, const HostOptions& host, std::chrono::milliseconds timeout,
               range::Fetcher* fetcher, Commons commons = {});

  range::GrantRecord record() const override;
  /// As it was when this went to the file: that may be damaged since.
  std::string origin() const override;
  StoreIdentity granted_by() const override;

  void await(const std::function<bool()>& ready, range::CallDeadline& of_call) override;
  void request_fetch() override;
  /// One of all processes is told so, and for a second no other one.
  bool is_fetch_due() override;
  bool claim_fetch() override;
  bool is_check_due() override;
  void fetch() override;
  void fetch(Store& store, bool is_awaited) override;
  std::uint64_t store_changes() const noexcept override { return store_changes_.count(); }
  std::uint64_t buffer_changes() const noexcept override { return buffer_changes_.count(); }
  /// Leaves a file or folder that was removed, and a store that others have seen the name lead away from.
  bool check() override;
  void check_name(Store& store) override;

 protected:
  /// What takers draw from, and all that is known of it.
  SharedState& state() const noexcept { return *state_.load(std::memory_order_acquire); }
  /// Runs `work` while this process alone may fetch, again where it returns false. Throws Error (unavailable)
  /// if that does not come about before the deadline of the call, as await().
  void alone(range::CallDeadline& of_call, const std::function<bool(Store&, StateFile&)>& work);
  /// Remembers that the store's name led to `store` when it was asked. True if `file` is of another one.
  bool leads_elsewhere(const StoreIdentity& store, const StateFile& file,
                       const StoreName::Question& question);
  StoreName::Question ask(Store& store) const { return name_.ask(*folder_->get(), store, now()); }
  /// False if `file` was taken from this process, or removed.
  bool is_current(const StateFile& file) { return file.is_current(*folder_->get()); }

  /// Notes in `state` what was granted, before it can be taken; the lock is held.
  virtual void keep_record(SharedState& state, const range::GrantRecord& record);

  UnixTime now() const { return std::chrono::floor<std::chrono::milliseconds>(clock().now()); }
  Clock& clock() const noexcept { return *store_options_.clock; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  /// How long one who took the lock of a file has held it while a caller waits for it.
  struct LockWait {
    std::shared_ptr<StateFile> file{};
    std::int64_t locks_taken = 0;
    Time since{};
  };

  /// The file to fetch into, of store `of` or the one that the name leads to, in the folder as it is now;
  /// null if that store is not known yet.
  std::shared_ptr<StateFile> current_file(const std::optional<StoreIdentity>& of = {});
  std::shared_ptr<StateFile> current_file(const Folder& folder, const std::optional<StoreIdentity>& of);
  /// Has takers draw from the current file, which is returned, once there is something in it.
  std::shared_ptr<StateFile> go_to_current_file();
  /// Goes to the store that the name leads to; if this host does not know, to `if_unknown`, or stays. In one
  /// step: else another thread may have gone on to a newer one in between.
  std::optional<StoreName::Known> follow_name(const std::optional<StoreIdentity>& if_unknown = {});
  /// Goes to `store`, or to another one to which the name has been seen to lead since.
  void note(const StoreIdentity& store, const StoreName::Question& question);
  /// True if it is known which store the name leads to, to this process or another one of this host.
  bool is_known();
  Time deadline_of(range::CallDeadline& call);
  /// Asks the store which one it is, if that is not known.
  void find_store(Time deadline);
  void leave_store();
  /// As go_to_current_file(), once it is known which store the name leads to. Null if waiting may cure the
  /// `failure`.
  std::shared_ptr<StateFile> go_to_store(Time deadline, std::optional<Error>& failure);
  /// Does `look()`, which finds a file; false if waiting may cure the `failure`.
  bool is_there(std::optional<Error>& failure, const std::function<void()>& look) const;
  bool was_served(const std::function<bool()>& ready);
  bool try_to_fetch(Time deadline, const std::function<bool()>& ready, LockWait& wait,
                    std::optional<Error>& failure);
  void keep_reason(std::optional<Error>& reason, const Error& error, Time begun, Time deadline);
  std::optional<FetchLock> lock(const std::shared_ptr<StateFile>& file, LockWait& wait);
  /// None if another holds the lock.
  std::optional<FetchLock> try_lock(const StateFile& file) const;
  /// How far takers have come of a file that goes, so that what is put into another one comes behind it.
  void note_order(const StateFile& file, std::int64_t end) const;
  std::int64_t order_end(const StateFile& file) const;
  void fetch_locked(Store& store, StateFile& file, const FetchLock& lock, bool may_ask_again = true);
  void put_in_place(SharedState& state, const range::Granted& granted, std::uint32_t turn);
  void tell(const std::string& failure, const Advice& advice) const;
  void note_failure(StateFile& file, const FetchLock& lock, const Error& error);
  /// For asking it. Throws Error (unavailable) if other threads are at it until then.
  std::unique_lock<ForkMutex> lock_store(Time deadline);
  /// All that it is asked ends by then.
  StorePool::Borrowed store_until(Time deadline);
  void pause(Time deadline, std::chrono::milliseconds& length);
  Error timed_out(const std::optional<Error>& failure);
  /// Has takers draw from there, or from nowhere if it is null; the files' mutex is held.
  void go_to(const std::shared_ptr<SharedState>& next);
  /// Where to draw, looked up where nobody knew it when this was made.
  SharedState& known_state();

  const StoreOptions store_options_;
  const bool tries_once_;                    ///< the timeout is zero: whoever waits does so for one attempt
  const std::chrono::milliseconds timeout_;  ///< and that long
  const FileKey key_;                        ///< but for the store's identity
  const StoreName name_;
  const std::function<void(const FetchChange&)> on_fetch_change_;
  range::Fetcher* const fetcher_;
  const std::shared_ptr<CurrentFolder> folder_;

  SharedState nowhere_{};  ///< what takers find empty while there is nothing else to draw from
  mutable ForkMutex files_mutex_;
  std::optional<StoreIdentity> identity_;  ///< where the name leads
  bool is_shut_out_ = false;               ///< could not go to a store, and has gone to none since
  std::shared_ptr<StateFile> file_;        ///< the current one
  /// Takers may be in each of them at any time, so their mappings stay; but no descriptors, and nothing of a
  /// file that another one replaced before anything was in it, as again and again while a store is silent.
  std::vector<std::shared_ptr<SharedState>> drawn_from_;
  // Of what was drawn from last:
  std::string origin_;
  std::optional<StoreIdentity> drawn_store_;
  mutable range::StoreChanges store_changes_, buffer_changes_;
  std::atomic<SharedState*> state_{&nowhere_};  ///< its buffer is what takers draw from
  /// The buffer and its word: tell whether anything was taken since the last check.
  std::pair<const range::DoubleBuffer*, std::uint64_t> checked_at_{};

  ForkMutex store_mutex_;
  const std::shared_ptr<StorePool> stores_;
};

}  // namespace leaf::host
