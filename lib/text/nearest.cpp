#include "leaf/detail/nearest.hpp"

#include <algorithm>
#include <vector>

namespace leaf::detail {

namespace {

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a` (optimal string
/// alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

constexpr std::size_t longest_word = 64;

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > longest_word) return {};
  std::string best;
  std::size_t best_distance = (word.size() + 5) / 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best = candidate;
    best_distance = distance;
  }
  if (!best.empty()) return best;
  const auto longer = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const std::string& candidate) { return candidate.starts_with(word); });
  return longer == candidates.end() ? std::string() : *longer;
}

}  // namespace leaf::detail
