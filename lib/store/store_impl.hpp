#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "leaf/detail/known_store.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/driver.hpp"
#include "store/found_tag.hpp"
#include "store/grant_marks.hpp"
#include "store/migrations.hpp"
#include "store/retry.hpp"
#include "store/table_faults.hpp"
#include "store/tag_error.hpp"
#include "store/url.hpp"

namespace leaf {

/// The connection of a Store, and the attempts that a call may take on it.
class Store::Impl {
 public:
  explicit Impl(const StoreOptions& options);
  ~Impl();

  /// While it lives, all that is asked of the store takes no longer in sum than its timeout. Where that is
  /// zero, each question may still take one attempt.
  class OneTimeout {
   public:
    explicit OneTimeout(Impl& impl) : impl_(impl), former_(impl.latest_) {
      if (!former_ && impl.timeout_ > std::chrono::milliseconds::zero())
        impl.latest_ = impl.clock_.steady_now() + impl.timeout_;
    }
    ~OneTimeout() { impl_.latest_ = former_; }
    OneTimeout(const OneTimeout&) = delete;
    OneTimeout& operator=(const OneTimeout&) = delete;

   private:
    Impl& impl_;
    const std::optional<std::chrono::steady_clock::time_point> former_;
  };

  /// While it lives, a question has the time of one attempt: for what has to be done although the time is
  /// over.
  class OneMoreAttempt {
   public:
    explicit OneMoreAttempt(Impl& impl) : impl_(impl), timeout_(impl.timeout_), latest_(impl.latest_) {
      impl.timeout_ = store::one_attempt;
      impl.latest_.reset();
    }
    ~OneMoreAttempt() {
      impl_.timeout_ = timeout_;
      impl_.latest_ = latest_;
    }
    OneMoreAttempt(const OneMoreAttempt&) = delete;
    OneMoreAttempt& operator=(const OneMoreAttempt&) = delete;

   private:
    Impl& impl_;
    const std::chrono::milliseconds timeout_;
    const std::optional<std::chrono::steady_clock::time_point> latest_;
  };

  /// Runs `work(connection, time left)` until it succeeds or trying again is no use; the time is a TimeLeft.
  template <typename Work>
  auto attempt(store::IfMissing if_missing, bool check_schema, Work work) {
    const auto asked = while_asked_ ? while_asked_() : nullptr;
    store::Attempts attempts(clock_, timeout_, latest_);
    retried_ = false;
    try {
      for (;;) {
        try {
          connect(if_missing, check_schema, attempts);
          return work(*connection_, store::TimeLeft(attempts));
        } catch (const Error& error) {
          if (connection_ && !connection_->usable()) connection_.reset();
          if (connection_ && store::may_be_table_fault(error)) blame_tables(error, attempts);
          attempts.wait_after(deployment_.empty() ? error : detail::with_known_store(error));
          retried_ = true;
        }
      }
    } catch (const Error&) {
      throw;
    } catch (...) {
      // As without memory, amid a statement: its answer would be taken for that to the next one.
      disconnect();
      throw;
    }
  }

  /// Runs one statement on a store with a current schema; nothing where this kind of store has no such.
  std::vector<store::Row> execute(const char* store::Sql::*statement,
                                  const std::vector<store::Value>& parameters);

  /// What `work()` returns, which only the owner of the tables may do: another role is told so.
  template <typename Work>
  static auto as_owner(Work work) {
    try {
      return work();
    } catch (const Error& error) {
      throw store::for_owner(error);
    }
  }

  /// As attempt() on a current schema, of what only the owner may do.
  template <typename Work>
  auto administer(Work work) {
    return as_owner([&] { return attempt(store::IfMissing::fail, true, work); });
  }

  /// Whether `pause` is over before the time of OneTimeout is, so that something can be asked afterwards.
  bool has_time_for(std::chrono::milliseconds pause) const;

  /// Whether the last call took more than one attempt: what it finds done may be its own work.
  bool retried() const noexcept { return retried_; }

  /// Runs one statement that grants. `make_parameters(deployment)` gives its parameters; `read(row,
  /// identity)` what it granted, the row's identity being in the two columns from `first` on. Nothing where
  /// no row came back, after `look(connection, time left)`, which may throw Error to have it tried again. A
  /// grant of another deployment than was connected to is given up, and asked for again. `floor` is that of
  /// Connection::execute_above(), if the statement has one.
  template <typename MakeParameters, typename Look>
  std::optional<std::pair<store::Row, StoreIdentity>> grant(const char* store::Sql::*statement,
                                                            std::size_t identity_column,
                                                            MakeParameters make_parameters, Look look,
                                                            const std::function<std::int64_t()>& floor = {}) {
    return attempt(store::IfMissing::fail, true,
                   [&](store::Connection& connection,
                       store::TimeLeft left) -> std::optional<std::pair<store::Row, StoreIdentity>> {
                     const std::vector<store::Value> parameters = make_parameters(deployment_);
                     const char* const text = connection.sql().*statement;
                     auto rows = floor ? connection.execute_above(text, parameters, floor, left)
                                       : connection.execute(text, parameters, left);
                     if (rows.size() != 1) store::require_no_table_fault(connection, left);
                     if (rows.empty()) {
                       // The parameters may be of another deployment than the one that answered.
                       const auto found = connection.execute(connection.sql().identity, {}, left);
                       if (!found.empty()) require_connected_to(store::identity_of(found[0], 0, connection));
                       look(connection, left);
                       return std::nullopt;
                     }
                     if (rows.size() > 1) throw store::several_rows();
                     StoreIdentity identity = store::identity_of(rows[0], identity_column, connection);
                     require_connected_to(identity);
                     run_ = store::run_of(rows[0], identity_column);
                     return std::pair(std::move(rows[0]), std::move(identity));
                   });
  }

  /// Runs grant_exactly or grant_segment with `count`, and heeds and raises the tag's mark. Throws as
  /// Store::grant().
  Grant grant_ids(const char* store::Sql::*statement, const TagName& name, std::int64_t count);

  /// What there is of the tag in the deployment that is connected to.
  store::FoundTag find(const TagName& name) {
    return attempt(store::IfMissing::fail, true, [&](store::Connection& connection, store::TimeLeft left) {
      return find(connection, left, name);
    });
  }
  /// The same over a connection that may lead each statement to another deployment: then throws Error, after
  /// which attempt() connects anew.
  store::FoundTag find(store::Connection& connection, store::TimeLeft left, const TagName& name) {
    const store::Value parameters[] = {name.str()};
    const auto found = connection.execute(connection.sql().tag, parameters, left);
    if (!found.empty()) require_connected_to(found[0].text(10));
    return store::found_in(found);
  }

  /// Looks at a tag after a statement on it had no row, as find(). Throws Error, after which attempt() runs
  /// the statement again, if it `fits` what is found: somebody has changed the tag in between.
  template <typename Fits>
  store::FoundTag look_why(store::Connection& connection, store::TimeLeft left, const TagName& name,
                           Fits fits) {
    store::FoundTag found = find(connection, left, name);
    if (fits(found)) throw store::changed_meanwhile(name);
    return found;
  }

  /// As GrantMarks::claim(), of what the last grant() gave. Two servers that run from copies of the same
  /// files are two copies of a store, whatever they say of themselves.
  bool claim(StoreIdentity store, const std::string& subject, Range granted, MarkHolder holder = 0);

  /// The end of what this host was granted of a tag of which the store asked last has no row; 0 if that may
  /// be right: nothing was, or the tag was removed.
  std::int64_t mark_of_lost_tag(const TagName& name);
  /// That there is no such tag in the store asked last.
  Error missing(const TagName& name);

  /// Runs a statement that leases, and notes which store did, and how often it was sent in `sent`. No rows:
  /// there is no lease in this way.
  std::vector<store::Row> lease(const char* store::Sql::*statement,
                                const std::vector<store::Value>& parameters, StoreIdentity& store, int& sent);
  /// Gives a worker that neither the store nor this host knows to have been leased beyond that time.
  using FindSpare = std::function<std::optional<std::int64_t>(UnixTime)>;
  /// Throws Error (refused) if time before the worker's mark was leased.
  void require_above_mark(const WorkerLease& lease, const FindSpare& spare);
  /// Throws Error (unavailable) while the store may lack leases that are still in use, and as
  /// require_known_layout().
  void require_no_lease_lost(const Layout& layout);
  /// Throws Error (refused) if this host knows that windows of another layout were leased in that deployment.
  void require_known_layout(const std::string& deployment, const Layout& layout);
  /// Raises that mark. Throws the same if another copy of the store has leased such time meanwhile.
  void claim_window(const WorkerLease& lease, const FindSpare& spare);
  Error leased_before(std::int64_t worker, UnixTime until, const FindSpare& spare);
  /// As Store::give_up_worker(), or Store::release_worker() if it `frees` the worker.
  bool give_up(const WorkerLease& lease, UnixTime used_until, bool frees);

  /// The deployment that the present connection leads to.
  const std::string& deployment() const noexcept { return deployment_; }
  GrantMarks& marks() const noexcept { return *marks_; }
  void set_timeout(std::chrono::milliseconds timeout,
                   std::optional<std::chrono::steady_clock::time_point> latest);
  /// As Store::connect_by().
  void connect_by(std::uint64_t files, const std::optional<StoreIdentity>& leads_to);
  /// That the present connection's answer came from `store`.
  void note_answer(const StoreIdentity& store) { answered_ = store; }
  /// For whoever has looked at a store that may not exist.
  void disconnect() noexcept;
  /// For whoever has changed what is known of the store.
  void look_anew() noexcept { schema_checked_ = false; }

  const store::Driver& driver() const { return store::driver(url_.driver); }
  StoreHealth inspect(store::Connection& connection, std::chrono::milliseconds timeout) const {
    return driver().inspect(connection, url_.target, timeout);
  }
  Clock& clock() const { return clock_; }

 private:
  void connect(store::IfMissing if_missing, bool check_schema, const store::Attempts& attempts);
  /// In the place of the present connection, which stays if that fails.
  void connect_anew(store::IfMissing if_missing, std::chrono::milliseconds timeout);
  /// Throws `error` with a remedy, if somebody has altered the tables in a way that may explain it.
  void blame_tables(const Error& error, const store::Attempts& attempts);
  /// As far as the present connection has told. One that has told nothing may be older than the name's turn.
  bool may_lead_to(const StoreIdentity& store) const;
  /// Throws Error, after which attempt() connects anew, where `deployment` is another one.
  void require_connected_to(const std::string& deployment);
  /// The same of what answered, and as note_answer().
  void require_connected_to(const StoreIdentity& identity) {
    require_connected_to(identity.deployment);
    note_answer(identity);
  }

  store::Url url_;
  const std::string variables_;  ///< StoreOptions::variables
  std::chrono::milliseconds timeout_;
  std::optional<std::chrono::steady_clock::time_point> latest_{};
  const std::string program_;
  Clock& clock_;
  const std::shared_ptr<GrantMarks> marks_;
  const std::function<std::shared_ptr<void>()> while_asked_;
  std::unique_ptr<store::Connection> connection_;
  unsigned connected_in_ = 0;  ///< the process, by its fork_generation()
  std::chrono::steady_clock::time_point connected_until_{};
  std::uint64_t connected_by_ = 0;
  std::optional<StoreIdentity> answered_{};  ///< over the present connection
  bool schema_checked_ = false;
  std::string deployment_;
  std::string run_;  ///< of the server that granted last: see store::run_of()
  bool retried_ = false;
};

}  // namespace leaf
