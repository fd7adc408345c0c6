#include "workers/worker_request.hpp"

namespace leafctl {

leaf::WorkerRequest worker_request(const Settings& settings) {
  return {.owner = settings.worker_name,
          .worker = settings.worker_id.worker_for(settings.worker_name),
          .window = settings.window,
          .recycle_after = settings.recycle_after,
          .max_skew = settings.max_skew,
          .max_backward = settings.max_backward,
          .layout = settings.layout};
}

}  // namespace leafctl
