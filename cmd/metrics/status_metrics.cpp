#include "metrics/status_metrics.hpp"

#include <algorithm>

#include "leaf/version.hpp"
#include "tags/tag_supply.hpp"

namespace leafctl {

namespace {

using leaf::HostBuffer;
using enum MetricType;

constexpr Metric build_info{"leafctl_build_info", gauge, "The program, by its version."};

constexpr Metric buffer_ids_left{"leafctl_buffer_ids_left", gauge,
                                 "IDs of a tag that this host has buffered."};
constexpr Metric buffer_ids{"leafctl_buffer_drawn_ids_total", counter,
                            "IDs of a tag that were drawn from this host's buffer, or discarded."};
constexpr Metric buffer_pace{"leafctl_buffer_ids_per_second", gauge,
                             "How fast this host draws IDs of a tag, since the fetch before the last one."};
constexpr Metric buffer_step{"leafctl_buffer_step_ids", gauge, "IDs that the last fetch asked for at least."};
constexpr Metric window_end{"leafctl_window_end_timestamp_seconds", gauge,
                            "When the time that is leased to this host's worker ends, as Unix time."};
constexpr Metric window_worker{"leafctl_window_worker", gauge, "The worker that this host's owner holds."};

/// What buffers of both kinds have.
struct FetchMetrics {
  Metric fetches;
  Metric failed;
  Metric failing;
  Metric last;
};
constexpr FetchMetrics tag_fetches{
    {"leafctl_buffer_fetches_total", counter, "Segments of a tag that this host has fetched."},
    {"leafctl_buffer_failed_fetches_total", counter, "Fetches of a tag's segments that failed."},
    {"leafctl_buffer_failures", gauge, "Fetches of a tag's segments that failed since the last good one."},
    {"leafctl_buffer_last_fetch_timestamp_seconds", gauge,
     "When this host last fetched a segment of a tag, as Unix time."}};
constexpr FetchMetrics window_fetches{
    {"leafctl_window_fetches_total", counter, "Windows of time that this host was leased."},
    {"leafctl_window_failed_fetches_total", counter, "Leases of windows that failed."},
    {"leafctl_window_failures", gauge, "Leases of windows that failed since the last good one."},
    {"leafctl_window_last_fetch_timestamp_seconds", gauge,
     "When this host was last leased a window, as Unix time."}};

constexpr Metric store_up{"leafctl_store_up", gauge, "1 if the store answered every question, else 0."};
constexpr Metric store_info{"leafctl_store_info", gauge, "The configured store."};
constexpr Metric schema_version{"leafctl_store_schema_version", gauge, "The version of the store's tables."};
constexpr Metric needed_schema_version{"leafctl_store_schema_version_needed", gauge,
                                       "The version of tables that this program works with."};
constexpr Metric clock_offset{"leafctl_store_clock_offset_seconds", gauge,
                              "This host's clock minus the store's."};
constexpr Metric tag_granted{"leafctl_tag_granted_ids_total", counter,
                             "IDs of a tag that the store has granted or left out, to all hosts."};
constexpr Metric tag_ids_left{"leafctl_tag_ids_left", gauge,
                              "IDs of a tag up to its limit, with those that this host has buffered."};
constexpr Metric tag_seconds_left{"leafctl_tag_seconds_left", gauge,
                                  "How long a tag's IDs last at the pace of this host alone."};
constexpr Metric workers{"leafctl_workers", gauge, "Workers of snowflake IDs, by state: free or taken."};
constexpr Metric layout_seconds_left{"leafctl_layout_seconds_left", gauge,
                                     "How long the timestamps of the store's layout last."};

double unix_seconds(leaf::UnixTime time) {
  return seconds_of(time.time_since_epoch());
}

void add_fetches(MetricsText& metrics, const HostBuffer& buffer, const Labels& labels,
                 const FetchMetrics& of) {
  metrics.add(of.fetches, labels, buffer.fetches);
  metrics.add(of.failed, labels, buffer.failed_fetches);
  metrics.add(of.failing, labels, std::int64_t{buffer.failures});
  if (buffer.in_use) metrics.add(of.last, labels, unix_seconds(buffer.fetched_at));
}

void add_tag_buffer(MetricsText& metrics, const HostBuffer& buffer) {
  const Labels labels{{"tag", buffer.name}, {"deployment", buffer.deployment}};
  add_fetches(metrics, buffer, labels, tag_fetches);
  if (!buffer.in_use) return;
  metrics.add(buffer_ids_left, labels, static_cast<std::int64_t>(buffer.current.size() + buffer.next.size()));
  metrics.add(buffer_ids, labels, buffer.drawn);
  metrics.add(buffer_step, labels, buffer.step);
  if (buffer.ids_per_second) metrics.add(buffer_pace, labels, *buffer.ids_per_second);
}

void add_worker_buffer(MetricsText& metrics, const HostBuffer& buffer) {
  const Labels labels{{"owner", buffer.name}, {"deployment", buffer.deployment}};
  add_fetches(metrics, buffer, labels, window_fetches);
  if (!buffer.in_use) return;
  metrics.add(window_end, labels, unix_seconds(buffer.next_window_end));
  metrics.add(window_worker, labels, buffer.worker);
}

void add_health(MetricsText& metrics, const leaf::StoreHealth& health, const std::string& url) {
  metrics.add(store_info,
              {{"store", url},
               {"deployment", health.deployment},
               {"database", health.database},
               {"version", health.version}},
              std::int64_t{1});
  if (health.schema_version) metrics.add(schema_version, {}, std::int64_t{*health.schema_version});
  metrics.add(needed_schema_version, {}, std::int64_t{health.newest_schema_version});
  if (health.time) metrics.add(clock_offset, {}, seconds_of(health.clock_offset));
}

void add_tag(MetricsText& metrics, const leaf::Tag& tag, const std::vector<TagOnHost>& on_host) {
  const Labels labels{{"tag", tag.name}};
  const TagOutlook outlook = outlook_of(tag, on_host);
  metrics.add(tag_granted, labels, tag.next_id - outlook.ids.first);
  metrics.add(tag_ids_left, labels, outlook.ids.left);
  if (outlook.seconds) metrics.add(tag_seconds_left, labels, *outlook.seconds);
}

/// Which of the buffers are of the store that was asked, and which of one before it.
void note_store_name(const std::string& url, const leaf::HostOptions& host, leaf::Store& store) try {
  leaf::refresh_store_name(url, host, store);
} catch (const leaf::Error&) {
  // What is wrong with the folder is told by those who draw, and by doctor.
}

}  // namespace

StoreAnswers ask_store(leaf::Store& store, const std::string& url,
                       const std::optional<leaf::HostOptions>& host) {
  StoreAnswers answers{.url = leaf::redact_url(url)};
  try {
    answers.health = store.health();
    answers.identity = store.identity();
    if (host) note_store_name(url, *host, store);
    answers.tags = store.tags();
    answers.layout = store.layout();
    answers.worker_range = store.worker_range();
    answers.workers = store.workers();
    answers.is_up = true;
  } catch (const leaf::Error& error) {
    answers.failure = error;
  }
  return answers;
}

void add_host_metrics(MetricsText& metrics, const std::vector<HostBuffer>& buffers) {
  metrics.add(build_info, {{"version", std::string(leaf::version())}}, std::int64_t{1});
  // Of a tag that several copies of a store have, the one that was fetched last counts.
  std::vector<const HostBuffer*> latest_first;
  for (const HostBuffer& buffer : buffers) {
    if (!buffer.is_former) latest_first.push_back(&buffer);
  }
  std::ranges::stable_sort(latest_first, std::greater{}, &HostBuffer::fetched_at);
  for (const HostBuffer* const buffer : latest_first) {
    if (buffer->kind == HostBuffer::Kind::tag) {
      add_tag_buffer(metrics, *buffer);
    } else {
      add_worker_buffer(metrics, *buffer);
    }
  }
}

void add_store_metrics(MetricsText& metrics, const StoreAnswers& answers,
                       const std::vector<HostBuffer>& buffers, leaf::UnixTime now,
                       const WorkerPolicy& policy) {
  metrics.add(store_up, {}, std::int64_t{answers.is_up});
  if (!answers.health) return;
  add_health(metrics, *answers.health, answers.url);
  if (answers.tags && answers.identity) {
    const auto on_host = tags_on_host(buffers, *answers.identity);
    for (const leaf::Tag& tag : *answers.tags) add_tag(metrics, tag, on_host);
  }
  if (!answers.layout) return;
  const leaf::UnixTime store_time = answers.health->time.value_or(now);
  metrics.add(layout_seconds_left, {}, seconds_of(answers.layout->last_time() - store_time));
  if (!answers.worker_range || !answers.workers) return;
  const WorkerSupply supply = supply_of(*answers.workers, *answers.worker_range, store_time, policy);
  metrics.add(workers, {{"state", "free"}}, supply.free);
  metrics.add(workers, {{"state", "taken"}}, supply.total - supply.free);
}

}  // namespace leafctl
