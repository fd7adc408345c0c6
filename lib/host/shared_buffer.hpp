#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/folder.hpp"
#include "host/fork_mutex.hpp"
#include "host/state_file.hpp"
#include "host/store_name.hpp"
#include "leaf/store.hpp"
#include "range/refiller.hpp"

namespace leaf::host {

/// A range that the store granted, and what all ranges of one buffer have in common.
struct GrantedRange {
  range::Refill refill;
  std::string origin;
};

/// A buffer that the processes of a host share, and the way it is filled: by one at a time for the whole
/// host, who holds the lock of its file; while that fails, after pauses that grow and that all keep to.
///
/// It belongs to a store, not to a name of it: where the name leads elsewhere takers go to that store's
/// buffer. Thread safe. After fork() the child may go on with it: no connection is used by two processes.
class SharedBuffer : public range::Refillable {
 public:
  /// Opens the file of `name`, if this host knows which store the URL leads to; else that is asked when it is
  /// needed. `key` tells the file from others of its kind. Throws Error as StateFile::open() does.
  SharedBuffer(const StoreOptions& store, const HostOptions& host, FileKind kind, const std::string& name,
               const std::string& key, std::chrono::milliseconds timeout);
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
  /// Leaves a file or folder that was removed, and a store that the name does not lead to any more.
  void check(Store& store) override;

 protected:
  /// Runs `work` while this process alone may fetch, again where it returns false. Throws Error (unavailable)
  /// if that does not come about before the timeout.
  void alone(const std::function<bool(Store&, StateFile&)>& work);
  /// Remembers that the store's name leads to `store`. True if `file` is of another one.
  bool leads_elsewhere(const StoreIdentity& store, const StateFile& file, const StoreName::Stamp& before);
  StoreName::Stamp stamp() const { return name_.stamp(); }
  /// Another number after takers went to another store's buffer.
  int moves() const noexcept { return moves_.load(std::memory_order_acquire); }

  /// Has `store` grant the next range; the lock is held. Throws Error.
  virtual GrantedRange grant(Store& store, StateFile& file) = 0;
  /// Notes in `state`, which may be a new one, what grant() returned last; the lock is held.
  virtual void note_granted(State& state) = 0;
  /// Throws Error (refused) if this object cannot go on with ranges of the origin that `state` names. Called
  /// before the first of them is taken.
  virtual void require_fitting(const State&) const {}
  virtual StoreIdentity identify(Store& store) { return store.identity(); }
  /// False where nothing can be granted while another process may still publish what it was granted.
  virtual bool may_take_over() const { return true; }

  GrantMarks& marks() const noexcept { return *store_options_.marks; }

  UnixTime now() const { return std::chrono::floor<std::chrono::milliseconds>(clock().now()); }
  std::int64_t now_ms() const { return now().time_since_epoch().count(); }
  Clock& clock() const noexcept { return *store_options_.clock; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  /// How long another process has held the lock of one file while a caller waits for it.
  struct LockWait {
    std::shared_ptr<StateFile> file{};
    Time since{};
  };

  /// The file to fetch into, of the store that the name leads to and in the folder as it is now; null if that
  /// store is not known yet.
  std::shared_ptr<StateFile> current_file();
  /// Has takers draw from the current file, once there is something in it.
  void go_to_current_file();
  void go_to(const StoreIdentity& store);
  /// True if it is known which store the name leads to, to this process or another one of this host.
  bool is_known();
  /// Asks the store which one it is, if that is not known.
  void find_store(Time deadline);
  void check_name(Store& store);
  bool may_try(StateFile& file);
  void try_to_fetch(Time deadline, const std::function<bool()>& is_done, LockWait& wait);
  std::optional<FetchLock> lock(const std::shared_ptr<StateFile>& file, LockWait& wait);
  void fetch_locked(Store& store, StateFile& file, const FetchLock& lock);
  void put_in_place(State& state, const GrantedRange& granted, std::uint32_t turn);
  void tell(const std::string& failure, const std::string& hint) const;
  void note_failure(StateFile& file, const FetchLock& lock, const Error& error);
  Store& store_until(Time deadline);
  void pause(Time deadline, std::chrono::milliseconds& length);
  Error timed_out(const std::optional<Error>& failure);

  const StoreOptions store_options_;
  const bool tries_once_;                    ///< the timeout is zero: whoever waits does so for one attempt
  const std::chrono::milliseconds timeout_;  ///< and that long
  const FileKey key_;                        ///< but for the store's identity
  const StoreName name_;
  const std::function<void(const FetchChange&)> on_fetch_change_;
  CurrentFolder folder_;

  State nowhere_{};  ///< what takers find empty while there is nothing else to draw from
  ForkMutex files_mutex_;
  std::optional<StoreIdentity> identity_;          ///< where the name leads
  std::vector<std::shared_ptr<StateFile>> files_;  ///< the last is current; takers may still be in the others
  std::atomic<State*> state_{&nowhere_};           ///< what takers draw from
  std::atomic<int> moves_{0};
  std::uint64_t checked_word_ = 0;  ///< tells whether anything was taken since the last check

  ForkMutex store_mutex_;
  std::unique_ptr<Store> store_;
  pid_t store_process_ = 0;  ///< the one that made it
};

}  // namespace leaf::host
