#include "layout/positions.hpp"

#include <bit>

namespace leaf::layout {

Positions::Positions(const Layout& layout)
    : layout_(layout), sequence_bits_(std::popcount(static_cast<std::uint64_t>(layout.max_sequence()))) {}

}  // namespace leaf::layout
