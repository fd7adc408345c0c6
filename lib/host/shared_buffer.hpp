#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/folder.hpp"
#include "host/state_file.hpp"
#include "host/store_identity.hpp"
#include "leaf/store.hpp"
#include "range/refiller.hpp"

namespace leaf::host {

/// A range that the store granted, and what all ranges of one buffer have in common.
struct GrantedRange {
  range::Refill refill;
  std::string deployment;
  std::string origin;
};

/// A buffer that the processes of a host share, and the way it is filled: by one at a time for the whole
/// host, who holds the lock of its file; while that fails, after pauses that grow and that all keep to.
///
/// Thread safe. After fork() the child may go on with it: no connection is used by two processes.
class SharedBuffer : public range::Refillable {
 public:
  /// Opens the file of `name`, making it where need be; `key` tells it from others of its kind. Throws Error
  /// as StateFile::open() does.
  SharedBuffer(const StoreOptions& store, const HostOptions& host, HostBuffer::Kind kind,
               const std::string& name, const std::string& key, std::chrono::milliseconds timeout);
  ~SharedBuffer() override;

  State& state() noexcept { return *state_.load(std::memory_order_acquire); }
  range::DoubleBuffer& buffer() noexcept { return state().buffer; }

  /// For a caller that the buffer does not serve: returns once `ready()` is true, having fetched if nobody
  /// else does. Throws the Error of a fetch that waiting does not cure, `unavailable` after the timeout.
  void await(const std::function<bool()>& ready);
  /// True if a fetch is due, nobody is at it and none has failed just now. The caller then has to see to it
  /// soon; for a second nobody else is asked to.
  bool claim_fetch();
  /// Fetches, unless another process is at it or it is not needed any more. Throws Error.
  void fetch();

  bool wants_fetch() override { return buffer().wants_next(); }
  bool is_used_up() override { return buffer().view().rest.empty(); }
  void fetch(Store& store) override;
  std::string what() const override;

 protected:
  /// Runs `work` while this process alone may fetch. Throws Error (unavailable) if that does not come about
  /// before the timeout.
  void alone(const std::function<void(Store&, State&)>& work);

  /// Has `store` grant the next range; the lock is held. Throws Error.
  virtual GrantedRange grant(Store& store, State& state) = 0;
  /// Notes in `state`, which may be a new one, what grant() returned last; the lock is held.
  virtual void note_granted(State& state) = 0;

  /// Throws Error (refused) if this object cannot go on with ranges of the origin that `state` names. Called
  /// before the first of them is taken.
  virtual void require_fitting(const State& state) const = 0;

  /// True if the last fetch was refused. The store is to be looked at before it is asked again: each grant
  /// moves its counter on, so that one which has gone back would soon not be told from one that has not.
  static bool was_refused(const State& state);
  /// Throws Error (refused) if `range` begins before the end of an earlier grant.
  void require_higher(const State& state, Range range) const;
  std::int64_t now_ms() const;
  Clock& clock() const noexcept { return *store_options_.clock; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::shared_ptr<StateFile> file();
  /// The file that is current now, to fetch into.
  std::shared_ptr<StateFile> current_file();
  /// Has takers draw from the current file once there is something in it.
  void go_to_current_file();
  void drop_what_another_store_granted();
  bool may_try();
  void try_to_fetch(Time deadline, const std::function<bool()>& is_done);
  void fetch_locked(Store& store, StateFile& file, const FetchLock& lock);
  void put_in_place(State& state, const GrantedRange& granted);
  void note_failure(StateFile& file, const FetchLock& lock, const Error& error);
  Store& store_until(Time deadline);
  void pause(Time deadline, std::chrono::milliseconds& length);
  Error timed_out();
  Error went_back(std::int64_t highest) const;

  const StoreOptions store_options_;
  const bool tries_once_;                    ///< the timeout is zero: whoever waits does so for one attempt
  const std::chrono::milliseconds timeout_;  ///< and that long
  const StoreIdentity identity_;
  const Subject subject_;
  const Folder folder_;

  std::mutex files_mutex_;
  std::vector<std::shared_ptr<StateFile>> files_;  ///< the last is current; takers may still be in the others
  std::atomic<State*> state_{nullptr};             ///< what takers draw from

  std::mutex store_mutex_;
  std::unique_ptr<Store> store_;
  pid_t store_process_ = 0;  ///< the one that made it
};

}  // namespace leaf::host
