#include "audit/rate_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include "leaf/detail/rfc3339.hpp"
#include "text/rough_duration.hpp"

namespace leafctl {

namespace {

constexpr std::size_t height = 6;

// From nothing to a full letter.
constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 3> ascii{" ", ".", "#"};

/// A rate in three digits, such as "12.3k".
std::string short_rate(double rate) {
  constexpr std::array units{"", "k", "M", "G"};
  std::size_t unit = 0;
  for (; rate >= 999.5 && unit + 1 < units.size(); ++unit) rate /= 1000;
  return fmt::format("{:.3g}{}/s", rate, units[unit]);
}

}  // namespace

std::string rate_plot(const RateSeries& series, const leaf::Layout& layout, std::size_t width,
                      PlotLetters letters) {
  if (series.empty() || width == 0) return {};
  const std::size_t together = (series.counts().size() + width - 1) / width;
  std::vector<std::uint64_t> columns((series.counts().size() + together - 1) / together);
  for (std::size_t i = 0; i < series.counts().size(); ++i) columns[i / together] += series.counts()[i];
  const std::uint64_t most = std::ranges::max(columns);
  const std::span<const std::string_view> levels =
      letters == PlotLetters::blocks ? std::span<const std::string_view>(blocks) : ascii;
  const std::size_t steps = levels.size() - 1;
  std::string picture;
  for (std::size_t row = height; row-- > 0;) {
    std::string line;
    for (const std::uint64_t count : columns) {
      // What is there at all is seen.
      const auto filled = static_cast<std::size_t>(static_cast<double>(count) / static_cast<double>(most) *
                                                   static_cast<double>(height * steps));
      const std::size_t shown = std::max<std::size_t>(filled, count == 0 ? 0 : 1);
      line += levels[std::clamp<std::size_t>(shown, row * steps, (row + 1) * steps) - row * steps];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    picture += line + "\n";
  }
  const auto stretch = layout.unit() * series.stretch() * static_cast<std::int64_t>(together);
  const auto end =
      std::min(series.begin() + series.stretch() * static_cast<std::int64_t>(series.counts().size()),
               layout.max_ticks());
  const double seconds = std::chrono::duration<double>(stretch).count();
  return picture + fmt::format("{} to {}\n{} a column, at most {}\n",
                               leaf::detail::format_rfc3339(layout.time_at(series.begin())),
                               leaf::detail::format_rfc3339(layout.time_at(end)), rough_duration(stretch),
                               short_rate(static_cast<double>(most) / seconds));
}

}  // namespace leafctl
