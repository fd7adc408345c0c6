#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/disguised_postgresql.hpp"
#include "simulation/random.hpp"
#include "simulation/store_model.hpp"
#include "store/connection.hpp"
#include "support/sqlite_store.hpp"

namespace leaf::simulation {

inline constexpr std::int64_t minute_ms = 60'000;
inline constexpr std::int64_t hour_ms = 60 * minute_ms;
inline constexpr std::int64_t begin_ms = 1'700'000'000'000;

/// How much all histories have compared.
struct Compared {
  std::int64_t statements = 0;
  std::int64_t rows = 0;
  std::int64_t left_out = 0;
  std::int64_t refused_draws = 0;
  std::vector<std::int64_t> shares{};
};

/// A store in a real database, and the model of it, which are asked the same.
class StorePair {
 public:
  using Statement = const char* store::Sql::*;
  using Values = std::vector<store::Value>;

  /// Of SQLite if `server` is null.
  StorePair(std::uint64_t seed, Compared& compared, DisguisedPostgresql* server);
  ~StorePair();

  bool is_file() const { return server_ == nullptr; }
  DisguisedPostgresql& server() { return *server_; }
  store::Connection& real() { return is_file() ? *file_connection_ : server_->connection(); }

  /// Both refuse it, or return as many rows, which have the same in those columns.
  void ask(Statement statement, const char* name, Values parameters, const std::vector<std::size_t>& columns);
  /// As Connection::execute_above(), where others have raised the floor since the parameters were made.
  void ask_above(Statement statement, const char* name, Values parameters, std::int64_t floor,
                 const std::vector<std::size_t>& columns);
  /// By leaf_next(), as whoever inserts rows does; the model grants as many, or nobody gets any.
  void draw_in_sql(const std::string& tag, std::int64_t count);
  /// The tables have the same rows.
  void compare_tables();

  /// What nobody may do: it fails, and changes nothing.
  void refuse(const std::string& script);
  void refuse(Statement statement, const char* name, Values parameters);
  /// It fails; the tables are not looked at.
  void refuse_draw_in_sql(const std::string& tag, std::int64_t count);
  /// It changes nothing, be it with or without a word.
  void ignore(const std::string& script);

  /// What leads the names of tables in a script.
  std::string schema() const { return is_file() ? "" : "public."; }
  const TagRow* tag(const std::string& name) const;

  void set_clock(std::int64_t time);
  /// Of the server: by so much while each transaction waits.
  void set_clock_back_in_each(std::int64_t by);
  /// The clock of the host that asks.
  std::int64_t hosts_clock();
  void become(const ServerName& name, bool is_started);

  store::Value perhaps(std::int64_t first, std::int64_t last) {
    return random.one_in(2) ? store::Value() : store::Value(random.between(first, last));
  }

  Random random;
  StoreModel model;
  std::int64_t clock = begin_ms;

 private:
  using Rows = std::vector<store::Row>;
  struct Answer {
    Rows rows{};
    std::string error{};
    std::string sqlstate{};
  };
  template <typename Ask>
  static Answer answer(Ask ask);
  template <typename Ask>
  void compare(Statement statement, const char* name, const Values& parameters,
               const std::vector<std::size_t>& columns, Ask ask);

  Answer draw(const std::string& tag, std::int64_t count);
  void require_refused(const Answer& answer);
  Values in_reality(Values parameters) const;
  void compare_rows(const char* query, const Rows& modelled, std::size_t count);
  /// The database makes it up, and the model another one.
  void note_incarnation(const std::string& in_reality, const std::string& modelled);
  std::optional<std::string> server_text(const std::optional<ServerName>& name) const;
  std::string text(const store::Row& row, std::size_t column, bool is_real) const;
  std::string lines(const Rows& rows, const std::vector<std::size_t>& columns, bool is_real) const;
  /// What the server has drawn by chance.
  std::int64_t left_out(const TagRow& row, std::int64_t least, std::int64_t most);

  Compared& compared_;
  DisguisedPostgresql* server_;
  std::unique_ptr<test::SqliteStore> file_;
  std::unique_ptr<store::Connection> file_connection_;
  std::map<std::string, std::string> incarnations_{};
  int starts_ = 1;
};

}  // namespace leaf::simulation
