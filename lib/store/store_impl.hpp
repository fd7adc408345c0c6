#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/driver.hpp"
#include "store/migrations.hpp"
#include "store/retry.hpp"
#include "store/url.hpp"

namespace leaf {

/// The connection of a Store, and the attempts that a call may take on it.
class Store::Impl {
 public:
  explicit Impl(const StoreOptions& options);

  /// Runs `work(connection, time left)` until it succeeds or trying again is no use.
  template <typename Work>
  auto attempt(store::IfMissing if_missing, bool check_schema, Work work) {
    store::Attempts attempts(clock_, timeout_);
    retried_ = false;
    for (;;) {
      try {
        connect(if_missing, check_schema, attempts);
        return work(*connection_, attempts.time_left());
      } catch (const Error& error) {
        if (connection_ && !connection_->usable()) connection_.reset();
        attempts.wait_after(error);
        retried_ = true;
      }
    }
  }

  /// Runs one statement on a store with a current schema; nothing where this kind of store has no such.
  std::vector<store::Row> execute(const char* store::Sql::*statement,
                                  const std::vector<store::Value>& parameters);

  /// Whether the last call took more than one attempt: what it finds done may be its own work.
  bool retried() const noexcept { return retried_; }

  /// The deployment that the present connection leads to.
  const std::string& deployment() const noexcept { return deployment_; }
  void set_timeout(std::chrono::milliseconds timeout);

  const store::Driver& driver() const { return store::driver(url_.driver); }
  StoreHealth inspect(store::Connection& connection, std::chrono::milliseconds timeout) const {
    return driver().inspect(connection, url_.target, timeout);
  }
  Clock& clock() const { return clock_; }

 private:
  void connect(store::IfMissing if_missing, bool check_schema, const store::Attempts& attempts);

  store::Url url_;
  std::chrono::milliseconds timeout_;
  Clock& clock_;
  std::unique_ptr<store::Connection> connection_;
  bool schema_checked_ = false;
  std::string deployment_;
  bool retried_ = false;
};

}  // namespace leaf
