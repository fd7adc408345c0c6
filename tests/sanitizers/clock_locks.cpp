// ThreadSanitizer of GCC 12 knows the locks that are waited for by the time of day, but not those by another
// clock: whoever holds one of these counts as holding none. So here they wait by the time of day.
#include <pthread.h>

#include <chrono>
#include <ctime>

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

nanoseconds now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

timespec by_time_of_day(clockid_t clock, const timespec& deadline) {
  const nanoseconds until =
      seconds(deadline.tv_sec) + nanoseconds(deadline.tv_nsec) - now(clock) + now(CLOCK_REALTIME);
  const auto whole = std::chrono::floor<seconds>(until);
  return {.tv_sec = whole.count(), .tv_nsec = (until - whole).count()};
}

}  // namespace

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) {
  const timespec until = by_time_of_day(clock, *deadline);
  return pthread_mutex_timedlock(mutex, &until);
}

extern "C" int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline) {
  const timespec until = by_time_of_day(clock, *deadline);
  return pthread_rwlock_timedwrlock(lock, &until);
}
