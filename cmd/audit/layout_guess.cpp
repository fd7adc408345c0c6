#include "audit/layout_guess.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "audit/id_fields.hpp"
#include "audit/id_sort.hpp"

namespace leafctl {

namespace {

using std::chrono::days;

constexpr leaf::UnixTime earliest = std::chrono::sys_days(std::chrono::year(2010) / 1 / 1);
constexpr double likely = 0.3;
constexpr std::chrono::milliseconds recent = days(30);

std::vector<std::int64_t> sorted_distinct(std::span<const std::int64_t> sample) {
  std::vector<std::int64_t> ids(sample.begin(), sample.end());
  std::vector<std::int64_t> scratch(ids.size());
  sort_ids(ids, scratch);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// How evenly `values` are used, in bits.
double entropy(std::vector<std::int64_t> values) {
  std::vector<std::int64_t> scratch(values.size());
  sort_ids(values, scratch);
  double bits = 0;
  for (auto begin = values.begin(); begin != values.end();) {
    const auto end = std::upper_bound(begin, values.end(), *begin);
    const double share = static_cast<double>(end - begin) / static_cast<double>(values.size());
    bits -= share * std::log2(share);
    begin = end;
  }
  return bits;
}

/// The share of `ids`, which ascend, that could be counted up in their unit of time from a low beginning.
double share_of_sound_sequences(const std::vector<std::int64_t>& ids, const IdFields& fields) {
  const std::int64_t low = std::max<std::int64_t>(fields.layout().max_sequence() / 16, 7);
  std::size_t sound = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t sequence = fields.sequence_of(ids[i]);
    const bool goes_on = i > 0 && fields.tick_of(ids[i - 1]) == fields.tick_of(ids[i]) &&
                         fields.worker_of(ids[i - 1]) == fields.worker_of(ids[i]) &&
                         fields.sequence_of(ids[i - 1]) + 1 == sequence;
    if (sequence <= low || goes_on) ++sound;
  }
  return static_cast<double>(sound) / static_cast<double>(ids.size());
}

LayoutCandidate judged(std::string name, const leaf::Layout& layout, const std::vector<std::int64_t>& ids,
                       leaf::UnixTime now) {
  const IdFields fields(layout);
  const auto is_in_time = [&](std::int64_t id) {
    return fields.holds(id) && layout.time_of(id) >= earliest && layout.time_of(id) <= now + days(1);
  };
  const auto in_time = static_cast<double>(std::ranges::count_if(ids, is_in_time));
  LayoutCandidate candidate{.name = std::move(name), .layout = layout, .score = 0, .why = {}};
  const double share_in_time = in_time / static_cast<double>(ids.size());
  if (share_in_time < 0.5) {
    candidate.why = fmt::format("{:.0f}% of the times lie between 2010 and now", 100 * share_in_time);
    return candidate;
  }
  leaf::UnixTime newest = layout.epoch();
  std::vector<std::int64_t> workers;
  for (const std::int64_t id : ids) {
    if (is_in_time(id)) newest = std::max(newest, layout.time_of(id));
    workers.push_back(fields.worker_of(id));
  }
  const double years = std::max(0.0, std::chrono::duration<double>(now - newest) / std::chrono::years(1));
  const double age = 1 / (1 + years / 10);
  // Small numbers of any kind lie shortly behind an epoch.
  const double start = newest - layout.epoch() < days(1) ? 0.1 : 1;
  const double most_bits =
      std::log2(std::min(static_cast<double>(layout.max_worker()) + 1, static_cast<double>(ids.size())));
  const double evenness = most_bits == 0 ? 0 : entropy(std::move(workers)) / most_bits;
  const double sound = share_of_sound_sequences(ids, fields);
  candidate.newest = newest;
  candidate.score = std::pow(share_in_time, 4) * age * start * (1 - 0.7 * evenness) * (0.4 + 0.6 * sound);
  candidate.why =
      fmt::format("up to {:%Y-%m-%d}, evenness of workers {:.0f}%, plausible sequence numbers {:.0f}%",
                  std::chrono::floor<days>(newest), 100 * evenness, 100 * sound);
  return candidate;
}

LayoutCandidate dense(const std::vector<std::int64_t>& ids) {
  const double range =
      static_cast<double>(static_cast<std::uint64_t>(ids.back()) - static_cast<std::uint64_t>(ids.front())) +
      1;
  const double density = static_cast<double>(ids.size()) / range;
  constexpr double far = 1LL << 40;
  const double score = density >= 0.5                                             ? 0.95
                       : density >= 0.05                                          ? 0.7
                       : density >= 1e-6 && static_cast<double>(ids.back()) < far ? 0.4
                                                                                  : 0.05 + 0.3 * density;
  return {.name = "dense",
          .layout = std::nullopt,
          .score = score,
          .why = fmt::format("{:.3g}% of the numbers from {} to {} are there", 100 * density, ids.front(),
                             ids.back())};
}

/// Whether two layouts differ in nothing but when their time begins: only the age of IDs speaks for one.
bool differ_by_epoch(const LayoutCandidate& left, const LayoutCandidate& right) {
  return left.layout && right.layout && left.layout->epoch() != right.layout->epoch() &&
         left.layout->unit() == right.layout->unit() &&
         left.layout->field("time")->shift() == right.layout->field("time")->shift();
}

/// Whether both tell the same time of each ID.
bool have_same_times(const LayoutCandidate& left, const LayoutCandidate& right) {
  if (!left.layout || !right.layout) return !left.layout && !right.layout;
  return left.layout->unit() == right.layout->unit() && left.layout->epoch() == right.layout->epoch() &&
         left.layout->field("time")->shift() == right.layout->field("time")->shift();
}

}  // namespace

LayoutGuess guess_layout(std::span<const std::int64_t> sample, const std::optional<leaf::Layout>& own,
                         leaf::UnixTime now) {
  LayoutGuess guess;
  if (sample.empty()) return guess;
  const std::vector<std::int64_t> ids = sorted_distinct(sample);
  const auto known = leaf::known_layouts();
  const auto is_own = [&](const leaf::KnownLayout& layout) { return own && layout.text == own->text(); };
  // Of equals the one that this host is set to comes first.
  if (own) guess.candidates.push_back(judged(own->name(), *own, ids, now));
  for (const leaf::KnownLayout& layout : known) {
    if (is_own(layout)) continue;
    guess.candidates.push_back(judged(std::string(layout.name), leaf::Layout::parse(layout.name), ids, now));
  }
  guess.candidates.push_back(dense(ids));
  std::ranges::stable_sort(guess.candidates, std::greater{}, &LayoutCandidate::score);
  const LayoutCandidate& first = guess.candidates.front();
  guess.is_known = first.score >= likely;
  // By chance IDs hardly end at this very time.
  const auto is_of_now = [&](const LayoutCandidate& one) { return one.newest && *one.newest > now - recent; };
  const auto is_rival = [&](const LayoutCandidate& other) {
    if (have_same_times(other, first)) return false;
    const double near = is_of_now(first) && !is_of_now(other) ? 0.9
                        : differ_by_epoch(other, first)       ? likely
                                                              : 0.7;
    return other.score >= near * first.score;
  };
  guess.is_sure = guess.is_known && std::ranges::none_of(guess.candidates, is_rival);
  return guess;
}

}  // namespace leafctl
