#include "metrics/metrics.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "metrics/status_metrics.hpp"

using leafctl::Metric;
using leafctl::MetricsText;
using leafctl::MetricType;
using namespace std::chrono_literals;

namespace {

constexpr Metric things{"leafctl_things_total", MetricType::counter, "Things."};
constexpr Metric heat{"leafctl_heat", MetricType::gauge, "Heat."};

std::string label_of(const std::string& text) {
  MetricsText metrics;
  metrics.add(heat, {{"tag", text}}, std::int64_t{1});
  const std::string result = metrics.text();
  const auto begin = result.find("{tag=\"") + 6;
  return result.substr(begin, result.rfind("\"} 1\n") - begin);
}

leaf::HostBuffer buffer_of(const std::string& tag, std::chrono::milliseconds fetched_at, std::int64_t drawn) {
  leaf::HostBuffer buffer;
  buffer.name = tag;
  buffer.deployment = std::string("d");
  buffer.in_use = true;
  buffer.fetched_at = leaf::UnixTime(fetched_at);
  buffer.drawn = drawn;
  return buffer;
}

}  // namespace

TEST_CASE("metrics: samples of one metric stand together, below its help and type") {
  MetricsText metrics;
  metrics.add(things, {{"a", "1"}, {"b", "2"}}, std::int64_t{9'223'372'036'854'775'807});
  metrics.add(heat, {}, 0.25);
  metrics.add(things, {{"a", "2"}, {"b", "2"}}, std::int64_t{0});
  CHECK(metrics.text() ==
        "# HELP leafctl_things_total Things.\n"
        "# TYPE leafctl_things_total counter\n"
        "leafctl_things_total{a=\"1\",b=\"2\"} 9223372036854775807\n"
        "leafctl_things_total{a=\"2\",b=\"2\"} 0\n"
        "# HELP leafctl_heat Heat.\n"
        "# TYPE leafctl_heat gauge\n"
        "leafctl_heat 0.25\n");
}

TEST_CASE("metrics: labels are escaped, and always UTF-8") {
  CHECK(label_of("order") == "order");
  CHECK(label_of("say \"no\"") == R"(say \"no\")");
  CHECK(label_of("a\\b\nc") == R"(a\\b\nc)");
  CHECK(label_of("Gr\xc3\xb6\xc3\x9f"
                 "e") ==
        "Gr\xc3\xb6\xc3\x9f"
        "e");
  CHECK(label_of("\xff") == R"(\\xff)");
}

TEST_CASE("metrics: no series twice, and what is no number has its name") {
  MetricsText metrics;
  metrics.add(heat, {{"a", "1"}}, 1.0);
  metrics.add(heat, {{"a", "1"}}, 2.0);
  metrics.add(heat, {{"a", "2"}}, std::numeric_limits<double>::infinity());
  metrics.add(heat, {{"a", "3"}}, std::numeric_limits<double>::quiet_NaN());
  CHECK(metrics.text() ==
        "# HELP leafctl_heat Heat.\n# TYPE leafctl_heat gauge\n"
        "leafctl_heat{a=\"1\"} 1\nleafctl_heat{a=\"2\"} +Inf\nleafctl_heat{a=\"3\"} NaN\n");
}

TEST_CASE("metrics: of two copies of a store the buffer that was fetched last counts") {
  MetricsText metrics;
  leafctl::add_host_metrics(metrics,
                            {buffer_of("a", 1s, 10), buffer_of("a", 3s, 30), buffer_of("b", 2s, 20)});
  const std::string text = metrics.text();
  CHECK(text.find("leafctl_buffer_drawn_ids_total{tag=\"a\",deployment=\"d\"} 30\n") != std::string::npos);
  CHECK(text.find("leafctl_buffer_drawn_ids_total{tag=\"b\",deployment=\"d\"} 20\n") != std::string::npos);
  CHECK(text.find("} 10\n") == std::string::npos);
}
