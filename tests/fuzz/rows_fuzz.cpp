// A server that answers each statement with any rows, refuses it or goes away: each call works or is refused,
// and a host gets no ID of a deployment twice. It stands in for the driver of PostgreSQL, behind which
// nothing looks at values.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/store_user.hpp"
#include "leaf/version.hpp"
#include "store/driver.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::store::Connection;
using leaf::store::Row;
using leaf::store::Sql;
using leaf::store::Value;

Choices* choices = nullptr;

constexpr std::size_t statement_count = sizeof(Sql) / sizeof(const char*);

/// Statements that say nothing but which one they are.
const Sql& named_statements() {
  static std::vector<std::string> names;
  static const Sql sql = [] {
    Sql made{};
    for (std::size_t i = 0; i < statement_count; ++i)
      names.push_back("statement " + std::to_string(i) + " @");
    const char* pointers[statement_count];
    for (std::size_t i = 0; i < statement_count; ++i) pointers[i] = names[i].c_str();
    std::memcpy(static_cast<void*>(&made), pointers, sizeof made);
    return made;
  }();
  return sql;
}

constexpr const char* deployments[] = {"11111111-2222-4333-8444-555555555555",
                                       "66666666-7777-4888-9999-000000000000"};

/// What a server may say in a column.
std::optional<std::string> cell(std::span<const Value> parameters) {
  switch (choices->below(12)) {
    case 0:
      return std::nullopt;
    case 1:
      return choices->text(12);
    case 2:
      return deployments[choices->below(2)];
    case 3:
      return "7000000000000000000/1/16384,16390";
    case 4:
      return leaf::known_layouts()[choices->below(leaf::known_layouts().size())].text.data();
    case 5:
      return "time:41,worker:10,sequence:12/1ms@1288834974657";
    case 6:
      if (parameters.empty()) return "0";
      if (const auto& echoed = parameters[choices->below(parameters.size())];
          const auto* number = std::get_if<std::int64_t>(&echoed)) {
        return std::to_string(*number + static_cast<std::int64_t>(choices->below(3)) - 1);
      } else {
        const auto* text = std::get_if<std::string>(&echoed);
        return text != nullptr ? std::optional(*text) : std::nullopt;
      }
    case 7:
      return std::to_string(choices->number());
    case 8:
      return "1";
    default:
      return std::to_string(choices->below(256));
  }
}

class AnyConnection final : public Connection {
 public:
  const Sql& sql() const noexcept override { return named_statements(); }
  bool usable() const noexcept override { return usable_; }

  std::vector<Row> execute(const char* statement, std::span<const Value> parameters,
                           std::chrono::milliseconds) override {
    fail_now_and_then();
    if (choices->below(4) != 0) {
      if (auto rows = plausible(statement, parameters); !rows.empty()) return rows;
    }
    std::vector<Row> rows;
    for (std::size_t i = choices->below(4); i > 0; --i) rows.push_back(any_row(parameters));
    return rows;
  }
  std::vector<Row> try_out(const char* statement, std::span<const Value> parameters,
                           std::chrono::milliseconds timeout) override {
    return execute(statement, parameters, timeout);
  }
  std::vector<Row> run_script(const std::string&, std::chrono::milliseconds) override {
    fail_now_and_then();
    return {};
  }

 private:
  void fail_now_and_then() {
    static constexpr const char* states[] = {"40001", "01000", "08006", "25006",
                                             "57P01", "57014", "42501", "XX000"};
    const std::size_t choice = choices->below(32);
    if (choice >= std::size(states)) return;
    if (choice == 2 || choice == 4) usable_ = false;
    throw leaf::Error(leaf::ErrorCode::unavailable, "the server says no", {}, states[choice]);
  }

  static Row any_row(std::span<const Value> parameters) {
    std::vector<std::optional<std::string>> columns;
    for (int i = 0; i < 12; ++i) columns.push_back(cell(parameters));
    return Row(std::move(columns));
  }

  /// A row such as PostgreSQL gives, with one column changed now and then; none for other statements.
  static std::vector<Row> plausible(const char* statement, std::span<const Value> parameters) {
    const Sql& sql = named_statements();
    static std::int64_t next_id = 1, window = 1'700'000'000'000;
    const std::string deployment = deployments[choices->below(8) == 7 ? 1 : 0];
    const std::string server = "7000000000000000000/1/16384";
    std::vector<std::optional<std::string>> row;
    if (statement == sql.schema_exists) row = {"1"};
    if (statement == sql.schema) row = {"10", deployment, "1", "9", "0.1.0"};
    if (statement == sql.identity) row = {deployment, server};
    if (statement == sql.layout)
      row = {"time:41,worker:10,sequence:12/1ms@1288834974657", "0", std::nullopt, "1"};
    if (statement == sql.grant_exactly || statement == sql.grant_segment) {
      const std::int64_t lo = next_id;
      // Now and then it goes back.
      next_id += choices->below(16) == 15 ? -static_cast<std::int64_t>(choices->below(50)) : 10;
      next_id = std::max<std::int64_t>(next_id, 1);
      row = {std::to_string(lo),
             std::to_string(lo + 10),
             "10",
             "9223372036854775806",
             "incarnation",
             "1",
             deployment,
             server,
             "1"};
    }
    if (statement == sql.tag || statement == sql.add_tag || statement == sql.update_tag)
      row = {"order", std::to_string(next_id), "10",          "1",          std::nullopt,
             "",      "1700000000000",         "incarnation", std::nullopt, "0"};
    const bool leases = statement == sql.acquire_held || statement == sql.acquire_new ||
                        statement == sql.renew || statement == sql.acquire_this ||
                        statement == sql.acquire_silent;
    if (leases) {
      constexpr std::size_t clock = 4;  // the caller's, of all these
      if (const auto* now = std::get_if<std::int64_t>(&parameters[clock])) window = *now;
      window -= static_cast<std::int64_t>(choices->below(8) == 7 ? choices->below(256) * 1'000 : 0);
      row = {"3", std::to_string(window), std::to_string(window + 600'000), "1", deployment, server};
    }
    if (row.empty()) return {};
    if (choices->below(8) == 7) row[choices->below(row.size())] = cell(parameters);
    std::vector<Row> rows;
    rows.emplace_back(std::move(row));
    return rows;
  }

  bool usable_ = true;
};

std::unique_ptr<Connection> connect(const std::string&, const std::string&, leaf::store::IfMissing,
                                    std::chrono::milliseconds) {
  return std::make_unique<AnyConnection>();
}

const std::vector<leaf::Migration>& migrations() {
  static const std::vector<leaf::Migration> all{
      {.number = 10, .name = "events", .sql = "CREATE TABLE nothing", .minimum_reader = 9}};
  return all;
}

leaf::StoreHealth inspect(Connection&, const std::string&, std::chrono::milliseconds) {
  return {};
}

}  // namespace

// In place of the one that loads modules.
const leaf::store::Driver& leaf::store::driver(const std::string&) {
  static const Driver driver{
      .built_with = LEAF_VERSION, .migrations = &migrations, .connect = &connect, .inspect = &inspect};
  return driver;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static leaf::fuzz::StoreUser& user = *new leaf::fuzz::StoreUser;
  static const bool is_cleared = std::atexit([] { user.leave(); }) == 0;
  static_cast<void>(is_cleared);
  Choices all(data, size);
  choices = &all;
  user.use(all, "postgresql://server/leaf");
  return 0;
}
