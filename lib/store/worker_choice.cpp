#include "store/worker_choice.hpp"

#include <algorithm>
#include <iterator>

#include "store/unix_time.hpp"

namespace leaf::store {

namespace {

using std::chrono::milliseconds;

/// How much of a worker's window is left, by the store's clock.
milliseconds time_left(const Worker& worker) {
  return worker.window_end - (worker.renewed_at + worker.silent_for);
}

/// Whether the next window of a worker begins in `lead` at most.
bool ends_within(const Worker& worker, milliseconds lead) {
  return time_left(worker) <= lead;
}

bool is_over(const Worker& worker) {
  return ends_within(worker, milliseconds::zero());
}

bool is_for_its_owner(const Worker& worker, const WorkerRequest& request, milliseconds lead) {
  return worker.owner == request.owner && (is_over(worker) || (!worker.leased && ends_within(worker, lead)));
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

bool is_free(const WorkerRequest& request, const std::vector<Worker>& known, milliseconds lead) {
  const auto found = std::ranges::find(known, *request.worker, &Worker::id);
  if (found == known.end()) return true;
  return is_for_its_owner(*found, request, lead) ||
         (is_over(*found) && (found->owner.empty() || found->silent_for >= request.recycle_after));
}

std::optional<std::int64_t> next_worker(const WorkerRequest& request, const std::vector<Worker>& known,
                                        const WorkerRange& range, milliseconds lead) {
  if (request.worker) return request.worker;
  // In the order of the statements that lease.
  const auto own = std::ranges::find_if(known, [&](const Worker& worker) {
    return worker.in_range && is_for_its_owner(worker, request, lead);
  });
  if (own != known.end()) return own->id;
  std::vector<Worker> over;
  std::ranges::copy_if(known, std::back_inserter(over),
                       [](const Worker& worker) { return worker.in_range && is_over(worker); });
  const auto free = std::ranges::find(over, std::string(), &Worker::owner);
  if (free != over.end()) return free->id;
  for (std::int64_t worker = range.first; worker <= range.last; ++worker) {
    if (std::ranges::find(known, worker, &Worker::id) == known.end()) return worker;
  }
  const auto longest_silent = std::ranges::min_element(over, {}, &Worker::renewed_at);
  if (longest_silent == over.end() || longest_silent->silent_for < request.recycle_after) return std::nullopt;
  return longest_silent->id;
}

std::optional<milliseconds> time_until_free(const WorkerRequest& request, const std::vector<Worker>& known) {
  std::optional<milliseconds> least;
  for (const Worker& worker : known) {
    if (request.worker ? worker.id != *request.worker : !worker.in_range) continue;
    const bool is_anothers = !worker.owner.empty() && worker.owner != request.owner;
    const milliseconds left = is_anothers
                                  ? std::max(time_left(worker), request.recycle_after - worker.silent_for)
                                  : time_left(worker);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

}  // namespace leaf::store
