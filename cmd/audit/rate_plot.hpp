#pragma once

#include <cstddef>
#include <string>

#include "audit/rate_series.hpp"
#include "leaf/layout.hpp"

namespace leafctl {

enum class PlotLetters { blocks, ascii };

/// The rate over time as columns of a picture, `width` letters wide at most, with the times below; empty if
/// there is nothing to show.
std::string rate_plot(const RateSeries& series, const leaf::Layout& layout, std::size_t width,
                      PlotLetters letters);

}  // namespace leafctl
