#include "metrics/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "leaf/detail/utf8.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

std::string label_value(const std::string& text) {
  std::string result;
  // A byte that is no UTF-8 would make the whole file unreadable.
  for (const char c : leaf::detail::is_utf8(text) ? text : escape_for_terminal(text)) {
    if (c == '\\')
      result += "\\\\";
    else if (c == '"')
      result += "\\\"";
    else if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result;
}

std::string series(std::string_view name, const Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [label, value] : labels)
    parts.push_back(fmt::format("{}=\"{}\"", label, label_value(value)));
  return parts.empty() ? std::string(name) : fmt::format("{}{{{}}}", name, fmt::join(parts, ","));
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void MetricsText::add(const Metric& metric, const Labels& labels, std::int64_t value) {
  add_text(metric, labels, std::to_string(value));
}

void MetricsText::add(const Metric& metric, const Labels& labels, double value) {
  add_text(metric, labels, number(value));
}

void MetricsText::add_text(const Metric& metric, const Labels& labels, std::string value) {
  auto family = std::ranges::find(families_, &metric, &Family::metric);
  if (family == families_.end()) family = families_.insert(families_.end(), Family{&metric, {}, {}});
  std::string name = series(metric.name, labels);
  if (family->known.insert(name).second) family->samples.emplace_back(std::move(name), std::move(value));
}

std::string MetricsText::text() const {
  std::string result;
  for (const Family& family : families_) {
    const Metric& metric = *family.metric;
    result += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help,
                          metric.type == MetricType::counter ? "counter" : "gauge");
    for (const auto& [name, value] : family.samples) result += fmt::format("{} {}\n", name, value);
  }
  return result;
}

}  // namespace leafctl
