#include "audit/rate_plot.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

using leafctl::PlotLetters;
using leafctl::rate_plot;
using leafctl::RateSeries;

TEST_CASE("audit: a plot shows where there is something, and how much, as wide as it may be") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  RateSeries series;
  CHECK(rate_plot(series, layout, 80, PlotLetters::ascii).empty());
  series.add(1000, 12);
  series.add(1001, 6);
  series.add(1003, 1);
  CHECK(rate_plot(series, layout, 80, PlotLetters::ascii) ==
        "#\n#\n#\n##\n##\n## .\n"
        "2010-11-04T01:42:55.657Z to 2010-11-04T01:42:55.661Z\n1ms a column, at most 12k/s\n");
  CHECK(rate_plot(series, layout, 2, PlotLetters::ascii).starts_with("#\n#\n#\n#\n#\n#.\n2010"));
  CHECK(rate_plot(series, layout, 80, PlotLetters::blocks).starts_with("█\n█\n█\n██\n██\n██ ▄\n"));
  for (std::int64_t tick = 0; tick < 100'000; tick += 7) series.add(tick, 5);
  for (const std::size_t width : {1U, 7U, 40U, 200U}) {
    std::istringstream lines(rate_plot(series, layout, width, PlotLetters::ascii));
    std::string line;
    for (int row = 0; row < 6 && std::getline(lines, line); ++row) CHECK(line.size() <= width);
  }
}
