#include <algorithm>
#include <charconv>
#include <utility>

#include "leaf/error.hpp"
#include "store/connection.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store {

const std::optional<std::string>& Row::at(std::size_t column) const {
  if (column >= columns_.size()) throw Error(ErrorCode::failed, "the store returned too few columns");
  return columns_[column];
}

std::optional<std::int64_t> Row::integer_or_null(std::size_t column) const {
  if (is_null(column)) return std::nullopt;
  const std::string& text = *at(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(ErrorCode::failed, "the store returned '" + text + "' where a number was expected");
  }
  return value;
}

std::int64_t Row::integer(std::size_t column) const {
  const auto value = integer_or_null(column);
  if (!value) throw Error(ErrorCode::failed, "the store returned NULL where a number was expected");
  return *value;
}

Row only_row(std::vector<Row> rows) {
  if (rows.empty()) throw Error(ErrorCode::failed, "the store returned nothing where a row was expected");
  return std::move(rows[0]);
}

StoreIdentity identity_of(const Row& row, std::size_t first, const Connection& connection) {
  StoreIdentity store{.deployment = row.text(first), .copy = connection.copy()};
  if (row.is_null(first + 1)) return store;
  // "SYSTEM/TIMELINE/TABLES": a failover moves to another timeline, and what was granted before still holds.
  std::string server = row.text(first + 1);
  server.resize(std::min(server.find('@'), server.size()));
  const auto timeline = server.find('/');
  const auto tables = server.find('/', timeline + 1);
  store.copy = tables == std::string::npos ? server : server.substr(0, timeline) + server.substr(tables);
  return store;
}

std::string run_of(const Row& row, std::size_t first) {
  const std::string server = row.text(first + 1);
  const auto run = server.find('@');
  return run == std::string::npos ? "" : server.substr(run);
}

void require_durable(const Row& row, std::size_t column) {
  const std::int64_t durability = row.integer(column);
  if (durability == 1) return;
  if (durability == 2) {
    throw Error(ErrorCode::refused, "a table of the store is unlogged: a crash of the server would empty it",
                unlogged_advice());
  }
  if (durability == 3) {
    throw Error(ErrorCode::refused,
                "table leaf_alloc was recreated without its triggers: IDs that were granted may come again",
                "put back the one that was there, or the whole store from a backup"_hint);
  }
  if (durability == 4) {
    throw Error(
        ErrorCode::refused,
        "'session_replication_role' is 'replica': the triggers that keep IDs from coming again do not run",
        "leave it at its default for this role and database, and out of PGOPTIONS"_hint);
  }
  if (durability == 5) {
    throw Error(ErrorCode::refused,
                "'synchronous_commit' is 'local': commits do not wait for the standby, and a failover would "
                "lose them",
                "leave it at its default for this role and database, and out of PGOPTIONS"_hint);
  }
  if (durability == 6) {
    throw Error(ErrorCode::refused,
                "a subscription writes into a table of the store: what it brings may set IDs back",
                subscription_advice());
  }
  if (durability == 7) throw put_back();
  throw Error(ErrorCode::refused,
              "commits may be lost in a crash: 'synchronous_commit' is off, or "
              "'client_min_messages' hides its warnings",
              lost_commits_advice());
}

Advice lost_commits_advice() {
  return advice(
      "leave both at their defaults for this role and database, and out of PGOPTIONS; see which "
      "one it is{}"_hint,
      Remedy{Remedy::Kind::check_store});
}

Error put_back() {
  return {ErrorCode::refused, "a trigger puts back the old row: IDs that were granted would come again",
          "drop the trigger on table leaf_alloc or leaf_worker whose name does not begin with 'leaf_'"_hint};
}

Error for_owner(const Error& error) {
  if (error.code() != ErrorCode::usage || error.sqlstate() != sqlstate::insufficient_privilege) return error;
  return {error.code(), error.what(),
          "log in as the owner of the tables: a runtime role can only draw IDs and lease workers"_hint,
          error.sqlstate()};
}

}  // namespace leaf::store
