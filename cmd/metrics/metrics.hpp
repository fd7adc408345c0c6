#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leafctl {

enum class MetricType { counter, gauge };

/// What is measured. `name` is a contract; it ends with its unit, and that of a counter with `_total`.
struct Metric {
  std::string_view name;
  MetricType type;
  std::string_view help;
};

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// Samples in Prometheus's text format, version 0.0.4, which node_exporter's textfile collector reads.
class MetricsText {
 public:
  /// Adds a sample. What has the same metric and labels as an earlier one is left out, as nobody may tell
  /// one from the other.
  void add(const Metric& metric, const Labels& labels, std::int64_t value);
  void add(const Metric& metric, const Labels& labels, double value);

  /// All samples, those of one metric together, in the order in which the first of each was added.
  std::string text() const;

 private:
  struct Family {
    const Metric* metric;
    std::vector<std::pair<std::string, std::string>> samples;  ///< name with labels, value
    std::set<std::string> known;                               ///< the first of each
  };

  void add_text(const Metric& metric, const Labels& labels, std::string value);

  std::vector<Family> families_;
};

}  // namespace leafctl
