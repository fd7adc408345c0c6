#include "bench/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace leafctl {

namespace {

using std::chrono::nanoseconds;

constexpr std::array units{"ns", "us", "ms", "s"};

/// The least 1, 2 or 5 times a power of ten that is above `edge`, which is such a number itself.
std::int64_t next_edge(std::int64_t edge) {
  std::int64_t power = 1;
  while (power * 10 <= edge) power *= 10;
  return edge / power == 2 ? 5 * power : 2 * edge;
}

struct Bin {
  nanoseconds end;
  std::uint64_t count;
};

std::string edge_text(std::int64_t edge) {
  std::size_t unit = 0;
  for (; edge >= 1000 && unit + 1 < units.size(); ++unit) edge /= 1000;
  return fmt::format("{} {}", edge, units[unit]);
}

std::vector<Bin> bins_of(const LatencyHistogram& histogram) {
  std::vector<Bin> bins;
  std::uint64_t below = 0;
  for (std::int64_t edge = 1; below < histogram.count(); edge = next_edge(edge)) {
    const std::uint64_t count = histogram.count_below(nanoseconds(edge));
    if (count > 0) bins.push_back({nanoseconds(edge), count - below});
    below = count;
  }
  return bins;
}

}  // namespace

std::string short_duration(std::chrono::duration<double> duration) {
  double value = duration.count() * 1e9;
  std::size_t unit = 0;
  // What would be rounded to 1000 belongs to the next unit.
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

std::string bars(const LatencyHistogram& histogram, std::size_t widest) {
  const std::vector<Bin> bins = bins_of(histogram);
  const auto most = std::ranges::max(bins, {}, &Bin::count).count;
  std::string text;
  for (const Bin& bin : bins) {
    const auto size = static_cast<double>(bin.count);
    const auto width =
        static_cast<std::size_t>(std::ceil(static_cast<double>(widest) * size / static_cast<double>(most)));
    text += fmt::format("  < {:>7} {:>8.4f}%{}{}\n", edge_text(bin.end.count()),
                        100 * size / static_cast<double>(histogram.count()), width == 0 ? "" : "  ",
                        std::string(width, '#'));
  }
  return text;
}

}  // namespace leafctl
