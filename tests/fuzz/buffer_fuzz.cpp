#include <cstring>

#include "fuzz/fuzz.hpp"
#include "leaf/detail/double_buffer.hpp"

namespace {

using leaf::Range;
using leaf::fuzz::require;
using leaf::range::DoubleBuffer;

constexpr std::int64_t step = 100;
constexpr std::uint32_t label = 7;

/// Takes up to `count` IDs, all of which come behind `last` and lie in what was published; returns the last.
std::int64_t take(DoubleBuffer& buffer, std::uint64_t count, std::int64_t last, std::int64_t published) {
  const Range range = buffer.take(count).range;
  if (range.empty()) return last;
  require(range.lo > last, "no ID comes again, or before one that came");
  require(range.hi <= published, "each ID was granted");
  require(buffer.view().label == label, "each ID is of this worker");
  return range.hi - 1;
}

}  // namespace

/// A buffer that is used and damaged as the input says: the first byte how far it is used, then pairs of a
/// place and what is changed there. What it gives after that was granted and never came before, unless the
/// damage is found. Damage to several words at once may cancel out by chance.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  DoubleBuffer buffer;
  std::int64_t published = 0;
  std::int64_t last = -1;
  const auto publish = [&] {
    buffer.publish({published, published + step}, 10, label);
    published += step;
  };
  for (int rounds = data[0] & 7; rounds >= 0; --rounds) {
    if (buffer.wants_next()) publish();
    last = take(buffer, 1 + data[1] % 60, last, published);
  }
  unsigned char bytes[sizeof buffer];
  std::memcpy(bytes, static_cast<const void*>(&buffer), sizeof buffer);
  for (std::size_t i = 2; i + 1 < size; i += 2)
    bytes[data[i] % sizeof buffer] = static_cast<unsigned char>(bytes[data[i] % sizeof buffer] ^ data[i + 1]);
  // The noted word tells of a cursor that went back only where it is not changed to agree with it.
  std::memcpy(bytes + 8, reinterpret_cast<const unsigned char*>(&buffer) + 8, 8);
  std::memcpy(static_cast<void*>(&buffer), bytes, sizeof buffer);
  if (!buffer.is_intact()) return 0;
  for (int i = 0; i < 6; ++i) {
    last = take(buffer, 1000, last, published);
    if (buffer.wants_next()) publish();
  }
  return 0;
}
