#include "doctor/lock_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/detail/rfc3339.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// Nothing could be granted while doctor looked.
Check check_file_lock(const leaf::StoreLock& lock) {
  const std::string seen =
      lock.process == 0 ? "the file is locked by a process of another host or container: nothing is granted"
                        : fmt::format("process {} ('{}') has locked the file: nothing is granted",
                                      lock.process, lock.program);
  return {"locks", CheckState::failed, seen, how_to_free_file(lock.process)};
}

/// Who waits for it gets no grant.
Check check_server_lock(const leaf::StoreLock& lock) {
  constexpr std::size_t most = 3;
  std::string what = fmt::format(
      "{}",
      fmt::join(lock.what.begin(),
                lock.what.begin() + static_cast<std::ptrdiff_t>(std::min(most, lock.what.size())), ", "));
  if (lock.what.size() > most) what += fmt::format(" and {} more", lock.what.size() - most);
  std::string seen = lock.prepared.empty()
                         ? fmt::format("process {} of the server, of role '{}'", lock.process, lock.role)
                         : fmt::format("the prepared transaction {}, of role '{}'", lock.prepared, lock.role);
  if (!lock.program.empty()) seen += fmt::format(" and program '{}'", lock.program);
  if (lock.since)
    seen += fmt::format(", {} since {}", lock.prepared.empty() ? "in a transaction" : "prepared",
                        leaf::detail::format_rfc3339(*lock.since));
  seen += fmt::format(" locks {}: whoever needs it waits", what);
  return {"locks", CheckState::warning, seen, leaf::how_to_end(lock)};
}

}  // namespace

std::string how_to_free_file(std::int64_t process) {
  if (process == 0) return "let its transaction end, or end the process"_hint;
  return fmt::format("let its transaction end, or end it with 'kill -9 {}'"_hint, process);
}

Checks lock_checks(const leaf::StoreHealth& health) {
  Checks checks;
  if (health.commits_wait) return checks;  // who waits for a standby holds locks, and is in nobody's way
  for (const leaf::StoreLock& lock : health.locks)
    checks.push_back(health.medium == leaf::StoreMedium::server ? check_server_lock(lock)
                                                                : check_file_lock(lock));
  return checks;
}

}  // namespace leafctl
