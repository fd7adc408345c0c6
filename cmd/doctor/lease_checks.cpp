#include "doctor/lease_checks.hpp"

#include <algorithm>

#include "leaf/error.hpp"
#include "terminal/remedy_text.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

bool has_lease(const leaf::WorkerRequest& request, const std::vector<leaf::HostBuffer>& buffers,
               const leaf::StoreIdentity& store, const std::vector<leaf::Worker>& workers,
               leaf::UnixTime now) {
  const auto holds = [&](std::int64_t number) {
    return std::ranges::any_of(workers, [&](const leaf::Worker& worker) {
      return worker.id == number && worker.leased && worker.owner == request.owner;
    });
  };
  // Whoever of its owner holds it: it may be a program that keeps its windows in its own memory.
  if (request.worker && holds(*request.worker)) return true;
  return std::ranges::any_of(buffers, [&](const leaf::HostBuffer& buffer) {
    return buffer.kind == leaf::HostBuffer::Kind::worker &&
           buffer.name == buffer_name(request.owner, request.worker) && buffer.in_use && !buffer.is_former &&
           !buffer.damaged && buffer.is_of(store) && (buffer.next_window_end > now || holds(buffer.worker));
  });
}

Checks lease_checks(leaf::Store& store, const leaf::WorkerRequest& request, bool has_lease) {
  try {
    store.check_lease(request, has_lease);
    return {};
  } catch (const leaf::Error& error) {
    using enum leaf::ErrorCode;
    if (error.code() != usage && error.code() != refused && error.code() != exhausted) throw;
    return {{"workers", CheckState::failed, error.what(), hint_text(error), request.owner}};
  }
}

}  // namespace leafctl
