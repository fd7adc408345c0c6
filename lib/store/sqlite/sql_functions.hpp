#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <functional>

namespace leaf::store::sqlite {

/// What the SQL of the store calls in this process: leaf_user(), who runs this program, and
/// leaf_floor(FLOOR), FLOOR or what it has become. Not thread safe.
class SqlFunctions {
 public:
  SqlFunctions() = default;
  SqlFunctions(const SqlFunctions&) = delete;
  SqlFunctions& operator=(const SqlFunctions&) = delete;

  /// Has to live as long as `db`. Returns what SQLite does.
  int add_to(sqlite3* db);

  /// Calls `run()`, while SQL asks `floor()`: the file is locked then. Throws what either does.
  template <typename Run>
  auto above(const std::function<std::int64_t()>& floor, Run run) {
    const During during(*this, floor);
    try {
      return run();
    } catch (...) {
      if (failure_) std::rethrow_exception(failure_);
      throw;
    }
  }

 private:
  class During {
   public:
    During(SqlFunctions& functions, const std::function<std::int64_t()>& floor) : functions_(functions) {
      functions_.floor_ = &floor;
      functions_.failure_ = nullptr;
    }
    ~During() { functions_.floor_ = nullptr; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    SqlFunctions& functions_;
  };
  static void raise_floor(sqlite3_context* context, int count, sqlite3_value** arguments);

  const std::function<std::int64_t()>* floor_ = nullptr;
  std::exception_ptr failure_;  ///< what it threw
};

}  // namespace leaf::store::sqlite
