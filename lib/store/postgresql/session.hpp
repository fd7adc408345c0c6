#pragma once

#include <libpq-fe.h>
#include <locale.h>

#include <chrono>
#include <memory>
#include <string>

#include "store/fork_guard.hpp"

namespace leaf::store::postgresql {

/// Throws Error (failed) once exit() has begun.
void require_not_ended();

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept;
};
struct ClearResult {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Session = std::unique_ptr<PGconn, FinishConnection>;
using Result = std::unique_ptr<PGresult, ClearResult>;

/// A moment of real time by which libpq has to be done.
using Deadline = std::chrono::steady_clock::time_point;

/// Logs in, asking for a server that takes writes where several are named. Throws Error: `unavailable` if
/// there is none in time, `usage` for a malformed connection string and a refused login. `program` is the
/// session's name where the connection string has none.
Session log_in(const std::string& connection_string, const std::string& program, Deadline deadline);

/// libpq tells some things in words alone, which it translates where the program has set a locale, and they
/// are judged by what they mean in English: for this thread it speaks that as long as one of these lives.
class InEnglish {
 public:
  InEnglish() noexcept;
  ~InEnglish();
  InEnglish(const InEnglish&) = delete;
  InEnglish& operator=(const InEnglish&) = delete;

 private:
  locale_t before_;
};

/// Runs a step of libpq's, which neither a fork() nor the end of the program comes between. Throws Error
/// (failed) once exit() has begun: libraries that libpq needs have been torn down then.
template <typename Step>
auto take_step(Step step) {
  const fork_guard::Hold no_fork;
  require_not_ended();
  const InEnglish words;
  return step();
}

/// Waits until the socket can be read, or written if `for_writing`. False if the deadline came first.
bool wait_for_socket(const PGconn* connection, bool for_writing, Deadline deadline);

/// Asks the server to give up the statement under way, so that abandoned ones do not pile up behind a lock.
/// Returns once it has heard, at the latest after `patience`. The connection is of no more use.
void cancel(PGconn* connection, std::chrono::milliseconds patience) noexcept;

}  // namespace leaf::store::postgresql
