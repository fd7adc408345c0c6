#include "store/worker_choice.hpp"

#include <algorithm>
#include <iterator>

#include "store/unix_time.hpp"

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

/// How much of a worker's window is left, by the clock that is behind: the store's, or the host's.
milliseconds time_left(const Worker& worker, UnixTime host_time) {
  return worker.window_end - std::min(worker.renewed_at + worker.silent_for, host_time);
}

bool is_over(const Worker& worker, UnixTime host_time) {
  return time_left(worker, host_time) <= milliseconds::zero();
}

bool is_for_its_owner(const Worker& worker, const WorkerRequest& request, UnixTime host_time,
                      milliseconds lead) {
  const milliseconds begins_in = time_left(worker, host_time);
  return worker.owner == request.owner && begins_in <= (worker.leased ? milliseconds::zero() : lead);
}

}  // namespace

std::optional<std::int64_t> spare_worker(const std::vector<Worker>& known, const WorkerRange& range,
                                         GrantMarks& marks, const std::string& deployment, UnixTime time) {
  for (std::int64_t worker = range.last; worker >= range.first; --worker) {
    const auto found = std::ranges::find(known, worker, &Worker::id);
    if (found != known.end() && found->window_end > time) continue;
    if (marks.highest(deployment, mark_of(worker)) <= unix_ms(time)) return worker;
  }
  return std::nullopt;
}

bool is_free(const WorkerRequest& request, const std::vector<Worker>& known, UnixTime host_time,
             milliseconds lead) {
  const auto found = std::ranges::find(known, *request.worker, &Worker::id);
  if (found == known.end()) return true;
  return is_for_its_owner(*found, request, host_time, lead) ||
         (is_over(*found, host_time) && (found->owner.empty() || found->silent_for >= request.recycle_after));
}

std::optional<std::int64_t> next_worker(const WorkerRequest& request, const std::vector<Worker>& known,
                                        const WorkerRange& range, UnixTime host_time, milliseconds lead) {
  if (request.worker) return request.worker;
  // In the order of the statements that lease.
  const auto own = std::ranges::find_if(known, [&](const Worker& worker) {
    return worker.in_range && is_for_its_owner(worker, request, host_time, lead);
  });
  if (own != known.end()) return own->id;
  std::vector<Worker> over;
  std::ranges::copy_if(known, std::back_inserter(over),
                       [&](const Worker& worker) { return worker.in_range && is_over(worker, host_time); });
  const auto free = std::ranges::find(over, std::string(), &Worker::owner);
  if (free != over.end()) return free->id;
  for (std::int64_t worker = range.first; worker <= range.last; ++worker) {
    if (std::ranges::find(known, worker, &Worker::id) == known.end()) return worker;
  }
  const auto longest_silent = std::ranges::min_element(over, {}, &Worker::renewed_at);
  if (longest_silent == over.end() || longest_silent->silent_for < request.recycle_after) return std::nullopt;
  return longest_silent->id;
}

std::optional<milliseconds> time_until_free(const WorkerRequest& request, const std::vector<Worker>& known,
                                            UnixTime host_time) {
  std::optional<milliseconds> least;
  for (const Worker& worker : known) {
    if (request.worker ? worker.id != *request.worker : !worker.in_range) continue;
    const bool is_anothers = !worker.owner.empty() && worker.owner != request.owner;
    milliseconds left = time_left(worker, host_time);
    if (is_anothers) left = std::max(left, request.recycle_after - worker.silent_for);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

}  // namespace leaf::store
