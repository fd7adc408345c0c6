// What an audit says of any IDs, beside the same told of all of them in memory.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;
using leafctl::Audit;

/// Runs of IDs, such as come in order, backwards, scattered and again.
std::vector<std::int64_t> ids_of(Choices& choices) {
  std::vector<std::int64_t> ids;
  constexpr std::size_t most = 20'000;  // more than are sorted at once
  while (choices.are_left() && ids.size() < most) {
    auto id = static_cast<std::uint64_t>(choices.number());
    const std::size_t count = 1 + choices.below(100) * choices.below(200);
    const std::uint64_t step = static_cast<std::uint64_t>(choices.number());
    for (std::size_t i = 0; i < count; ++i, id += step)
      ids.push_back(static_cast<std::int64_t>(id & INT64_MAX));
  }
  return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  static const leaf::Layout layout = leaf::Layout::parse("leaf");
  Audit::Options options;
  options.kind = static_cast<Audit::Kind>(choices.below(3));
  if (options.kind == Audit::Kind::snowflake || choices.flag()) options.layout = layout;
  options.now = leaf::UnixTime(std::chrono::milliseconds(1'700'000'000'000));
  options.examples = choices.below(5);
  options.sorting = {.memory = leafctl::AscendingIds::least_memory, .folder = "/dev/shm"};
  const std::size_t piece = 1 + choices.below(200);
  std::vector<std::int64_t> ids = ids_of(choices);

  Audit audit(options);
  std::uint64_t descents = 0;
  for (std::size_t at = 0; at < ids.size(); at += piece)
    audit.add(std::span(ids).subspan(at, std::min(piece, ids.size() - at)));
  audit.finish();
  for (std::size_t i = 1; i < ids.size(); ++i) descents += ids[i] < ids[i - 1] ? 1 : 0;
  require(audit.descents() == descents, "IDs below the one before are counted");

  std::ranges::sort(ids);
  std::uint64_t distinct = 0, repeated = 0, gaps = 0, outside = 0;
  std::vector<leafctl::Repeat> examples;
  for (std::size_t i = 0; i < ids.size();) {
    const auto after = std::upper_bound(ids.begin(), ids.end(), ids[i]);
    const auto next = static_cast<std::size_t>(after - ids.begin());
    ++distinct;
    if (next - i > 1 && ++repeated <= options.examples) examples.push_back({ids[i], next - i});
    if (next < ids.size() && ids[next] != ids[i] + 1) ++gaps;
    if (audit.layout() && !audit.layout()->holds(ids[i])) outside += next - i;
    i = next;
  }
  const leafctl::Tally& tally = audit.tally();
  require(tally.count() == ids.size() && tally.distinct() == distinct, "IDs are counted");
  require(tally.repeated() == repeated && tally.repeats() == ids.size() - distinct, "repeats are counted");
  require(std::ranges::equal(tally.examples(), examples,
                             [](const auto& a, const auto& b) { return a.id == b.id && a.times == b.times; }),
          "the least repeats are shown");
  require(tally.outside() == outside, "IDs that the layout does not hold are counted");
  if (ids.empty()) return 0;
  require(tally.least() == ids.front() && tally.greatest() == ids.back(), "the ends are told");
  require(tally.gaps() == gaps, "gaps are counted");
  require(tally.missing() ==
              static_cast<std::uint64_t>(ids.back()) - static_cast<std::uint64_t>(ids.front()) + 1 - distinct,
          "what is missing is counted");
  return 0;
}
