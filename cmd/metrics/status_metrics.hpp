#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/supply_checks.hpp"
#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/host.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "leaf/tag.hpp"
#include "metrics/metrics.hpp"

namespace leafctl {

/// What was asked of a store. What is absent was not answered.
struct StoreAnswers {
  std::string url;  ///< as it may be shown
  bool is_up = false;
  std::optional<leaf::StoreHealth> health{};
  std::optional<leaf::StoreIdentity> identity{};
  std::optional<std::vector<leaf::Tag>> tags{};
  std::optional<leaf::Layout> layout{};
  std::optional<leaf::WorkerRange> worker_range{};
  std::optional<std::vector<leaf::Worker>> workers{};
  std::optional<leaf::Error> failure{};  ///< why not all was answered
};

/// Asks `store`, which was made of `url`, and has this host go by where the name leads, if there is one.
StoreAnswers ask_store(leaf::Store& store, const std::string& url,
                       const std::optional<leaf::HostOptions>& host);

/// The program, and what this host has buffered, of any store.
void add_host_metrics(MetricsText& metrics, const std::vector<leaf::HostBuffer>& buffers);

/// The store, its tags and workers. `now` is this host's clock, which counts where the store has none.
void add_store_metrics(MetricsText& metrics, const StoreAnswers& answers,
                       const std::vector<leaf::HostBuffer>& buffers, leaf::UnixTime now,
                       const WorkerPolicy& policy);

}  // namespace leafctl
