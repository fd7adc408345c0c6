#include "store/worker_choice.hpp"

#include <algorithm>
#include <iterator>

#include "store/unix_time.hpp"

namespace leaf::store {

namespace {

/// Whether the next window of a worker begins at once, by the store's clock.
bool is_over(const Worker& worker) {
  return worker.window_end <= worker.renewed_at + worker.silent_for;
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

bool is_free(const WorkerRequest& request, const std::vector<Worker>& known) {
  const auto found = std::ranges::find(known, *request.worker, &Worker::id);
  if (found == known.end()) return true;
  return is_over(*found) && (found->owner.empty() || found->owner == request.owner ||
                             found->silent_for >= request.recycle_after);
}

std::optional<std::int64_t> next_worker(const WorkerRequest& request, const std::vector<Worker>& known,
                                        const WorkerRange& range) {
  if (request.worker) return request.worker;
  std::vector<Worker> over;
  std::ranges::copy_if(known, std::back_inserter(over),
                       [](const Worker& worker) { return worker.in_range && is_over(worker); });
  // In the order of the statements that lease.
  for (const std::string& owner : {request.owner, std::string()}) {
    const auto held = std::ranges::find(over, owner, &Worker::owner);
    if (held != over.end()) return held->id;
  }
  for (std::int64_t worker = range.first; worker <= range.last; ++worker) {
    if (std::ranges::find(known, worker, &Worker::id) == known.end()) return worker;
  }
  const auto longest_silent = std::ranges::min_element(over, {}, &Worker::renewed_at);
  if (longest_silent == over.end() || longest_silent->silent_for < request.recycle_after) return std::nullopt;
  return longest_silent->id;
}

}  // namespace leaf::store
