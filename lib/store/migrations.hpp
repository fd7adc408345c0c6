#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"

namespace leaf::store {

/// The schema that a connection leads to.
struct Schema {
  int version = 0;              ///< 0: none
  int minimum_reader = 0;       ///< the oldest version that a program has to know
  std::string minimum_release;  ///< the release that came to ask for it; empty: not told
  std::string deployment;
  bool logged = true;  ///< false: the tag table is emptied by a crash of the server
};

/// One under the migrations' lock, which is rolled back unless it was committed. Its statements mean the
/// store's tables, whatever other clients of a pooler have set.
class Transaction {
 public:
  /// `timeout` is for all of it, up to the end of the commit.
  Transaction(Connection& connection, std::chrono::milliseconds timeout);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// What is left of the timeout. Throws Error (unavailable) if nothing is.
  std::chrono::milliseconds time_left() const;
  void commit();
  /// As commit(), where there may be nothing to change: what others have committed, or an attempt whose reply
  /// was lost, lasts too then.
  void confirm();

 private:
  void roll_back() noexcept;

  Connection& connection_;
  std::chrono::steady_clock::time_point deadline_;
  bool committed_ = false;
};

/// What is said where the only row of leaf_meta is gone.
Error lost_meta_row();
/// A grant has met more rows than one: nobody can tell which of them IDs were granted from before.
Error several_rows();

Schema read_schema(Connection& connection, std::chrono::milliseconds timeout);

/// Throws Error: `usage` if the schema is missing, older than `migrations` or asks for a later release;
/// `refused` if it is not logged.
void require_current(const Schema& schema, std::span<const Migration> migrations);

/// Applies what lies above the schema's version in one transaction, under the migrations' lock, and returns
/// it. Throws Error: `usage` if the schema asks for a later release; `refused` where others have made what
/// would run as the present role, but for `adopted`, which is taken over or dropped. Where there was no
/// schema calls `furnish` before the commit; what that throws leaves none.
std::vector<Migration> migrate(Connection& connection, std::span<const Migration> migrations,
                               const std::vector<ForeignObject>& adopted, std::chrono::milliseconds timeout,
                               const std::function<void(const Transaction&)>& furnish = {});

/// Throws Error (usage) if the schema is newer than `migrations`, though it goes with them: what is to be
/// changed may have a part that is not known yet.
void require_newest(const Schema& schema, std::span<const Migration> migrations);

/// Whether a schema of `version` notes who changed what.
bool has_events(int version, std::span<const Migration> migrations);

/// The triggers of the log of changes, as triggers_of().
std::map<std::string, std::string> event_triggers(std::span<const Migration> migrations);
std::map<std::string, std::string> event_functions(std::span<const Migration> migrations);

/// What migrate() applies: what pending() gives, and in front of it what makes the log of changes and
/// triggers anew where these are not whole. Throws Error (usage) if the schema asks for a later release.
std::vector<Migration> wanted(Connection& connection, const Schema& schema,
                              std::span<const Migration> migrations, std::chrono::milliseconds timeout);

/// Those that the schema lacks. Throws Error (usage) if it asks for a later release.
std::vector<Migration> pending(const Schema& schema, std::span<const Migration> migrations);

/// What migrate() does, for somebody to run by hand.
std::string script(const Connection& connection, std::span<const Migration> pending,
                   const std::vector<ForeignObject>& adopted);

}  // namespace leaf::store
