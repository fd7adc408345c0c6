#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "doctor/check.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "metrics/status_metrics.hpp"

namespace leafctl {

/// What a server shows of the store and this host. The store is asked now and then, however often that is
/// looked at. Thread safe; each call may take as long as the store's answer.
class StoreOverview {
 public:
  /// `session` is borrowed.
  explicit StoreOverview(const Session& session);

  /// For Prometheus.
  std::string metrics();
  /// All of it, as JSON.
  std::string status();
  /// Leaf's table of what is buffered of the store's tags, as HTML.
  std::string cache_page();
  /// Leaf's table of tags in the store, as HTML. Throws leaf::Error if it does not answer.
  std::string store_page();

 private:
  using Time = std::chrono::steady_clock::time_point;

  leaf::Store& store();
  const StoreAnswers& answers(Time now);
  const Checks& checks(Time now);
  std::vector<leaf::HostBuffer> buffers() const;

  const Session& session_;
  const leaf::StoreOptions options_;
  std::mutex mutex_;
  std::optional<leaf::Store> store_;
  std::optional<StoreAnswers> answers_;
  Time asked_;
  std::optional<Checks> checks_;
  Time checked_;
};

}  // namespace leafctl
