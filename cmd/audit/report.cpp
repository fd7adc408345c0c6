#include "audit/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "audit/exhaustion.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "text/grouped.hpp"
#include "text/rough_duration.hpp"

namespace leafctl {

namespace {

using leaf::detail::format_rfc3339;

/// Rows that go back in time, of all that could: beyond it they are in no order, and tell nothing of clocks.
constexpr double most_disorder = 0.1;
/// A shard with so many times its share is worth a look.
constexpr double skewed = 2;
/// The score of a layout that may be meant.
constexpr double worth_naming = 0.1;
constexpr std::uint64_t enough_for_shards = 1000;
constexpr std::size_t reported_shards = 16;

std::int64_t number(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// "1 ID", "1,000 IDs".
std::string counted(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", grouped(count), one, count == 1 ? "" : "s");
}

std::string percent(double part) {
  return fmt::format("{:.3g}%", 100 * part);
}

class Reporter {
 public:
  Reporter(const Audit& audit, const ReportOptions& options)
      : audit_(audit), options_(options), tally_(audit.tally()) {}

  Findings findings() {
    add_ids();
    if (tally_.count() == 0) return std::move(findings_);
    add_layout();
    add_order();
    add_repeats();
    if (audit_.layout()) {
      add_workers();
      add_shared_workers();
      add_clocks();
      add_rate();
      add_sequence();
    }
    add_shards();
    if (audit_.is_dense()) add_gaps();
    add_exhaustion();
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  void add_ids() {
    Finding ids{.name = "ids",
                .measures = {{"count", number(tally_.count())},
                             {"distinct", number(tally_.distinct())},
                             {"invalid", number(options_.bad)}}};
    if (tally_.count() == 0) {
      ids.state = FindingState::unknown;
      ids.detail = "none";
    } else {
      ids.detail = fmt::format("{}, {} of them different, from {} to {}", counted(tally_.count(), "ID"),
                               grouped(tally_.distinct()), tally_.least(), tally_.greatest());
    }
    if (options_.bad != 0) {
      ids.state = FindingState::warning;
      ids.detail += fmt::format("; {} held none", counted(options_.bad, "line"));
    }
    add(ids);
  }

  void add_layout() {
    if (const auto& guess = audit_.guess()) {
      const LayoutCandidate& first = guess->candidates.front();
      Finding layout{.name = "layout", .measures = {{"score", first.score}}};
      if (!guess->is_known) {
        layout.state = FindingState::unknown;
        layout.detail = "no known one fits, so no times and workers are told: name it with '--layout'";
      } else {
        layout.subject = first.name;
        layout.detail = fmt::format("guessed: {}", first.why);
      }
      if (guess->is_known && !guess->is_sure) {
        layout.state = FindingState::unknown;
        layout.detail += "; other layouts score nearly as high: name it with '--layout' to be sure";
      }
      add(layout);
      for (const LayoutCandidate& candidate : guess->candidates) {
        if (candidate.score >= worth_naming)
          add({.name = "candidate",
               .detail = fmt::format("score {:.2f}: {}", candidate.score, candidate.why),
               .subject = candidate.name,
               .measures = {{"score", candidate.score}}});
      }
    } else {
      add({.name = "layout",
           .detail = "as given",
           .subject = audit_.layout() ? audit_.layout()->name() : "dense"});
    }
    if (tally_.outside() == 0) return;
    add({.name = "outside",
         .state = FindingState::warning,
         .detail = fmt::format("{} can be none of that layout", counted(tally_.outside(), "ID")),
         .measures = {{"count", number(tally_.outside())}}});
  }

  void add_order() {
    add({.name = "order",
         .detail = audit_.was_ascending() ? "no ID is lower than the one before"
                                          : counted(audit_.descents(), "ID") +
                                                (audit_.descents() == 1 ? " is lower than the one before it"
                                                                        : " are lower than the one before"),
         .measures = {{"descents", number(audit_.descents())}}});
  }

  void add_repeats() {
    const std::uint64_t repeated = tally_.repeated();
    Finding repeats{.name = "repeats",
                    .measures = {{"repeated", number(repeated)}, {"repeats", number(tally_.repeats())}}};
    if (repeated == 0) {
      repeats.detail = "none";
    } else {
      repeats.state = FindingState::failed;
      repeats.detail = fmt::format("{} {} more than once, {} too many", counted(repeated, "ID"),
                                   repeated == 1 ? "occurs" : "occur", counted(tally_.repeats(), "row"));
    }
    add(repeats);
    for (const Repeat& repeat : tally_.examples()) {
      add({.name = "repeat",
           .state = FindingState::failed,
           .detail = fmt::format("{} times{}", grouped(repeat.times), decoded(repeat.id)),
           .subject = std::to_string(repeat.id),
           .measures = {{"times", number(repeat.times)}}});
    }
  }

  std::string decoded(std::int64_t id) const {
    const auto& layout = audit_.layout();
    if (!layout || !layout->holds(id)) return {};
    return fmt::format(", {}, worker {}, sequence {}", format_rfc3339(layout->time_of(id)),
                       layout->worker_of(id), layout->sequence_of(id));
  }

  std::chrono::milliseconds length(std::int64_t ticks) const { return ticks * audit_.layout()->unit(); }
  std::uint64_t in_layout() const { return tally_.count() - tally_.outside(); }

  /// The workers that matter to `is_it`, those with the most IDs first.
  template <class Test>
  std::vector<const WorkerUse*> workers_that(Test is_it) const {
    std::vector<const WorkerUse*> workers;
    for (const WorkerUse& use : audit_.workers().workers()) {
      if (is_it(use)) workers.push_back(&use);
    }
    std::ranges::sort(workers, [](const WorkerUse* left, const WorkerUse* right) {
      return left->count != right->count ? left->count > right->count : left->worker < right->worker;
    });
    return workers;
  }

  std::uint64_t sum_of(std::uint64_t WorkerUse::*count) const {
    std::uint64_t sum = 0;
    for (const WorkerUse& use : audit_.workers().workers()) sum += use.*count;
    return sum;
  }

  /// Whether rows of one worker come as it has made them, on the whole.
  bool is_in_order_of_making() const {
    return share(sum_of(&WorkerUse::steps_back), in_layout()) <= most_disorder;
  }

  void add_workers() {
    const auto all = workers_that([](const WorkerUse&) { return true; });
    Finding workers{.name = "workers", .measures = {{"count", number(all.size())}}};
    workers.detail = counted(all.size(), "worker");
    if (!all.empty()) {
      const double busiest = share(all.front()->count, in_layout());
      workers.detail += fmt::format(", the busiest with {} of the IDs", percent(busiest));
      workers.measures.push_back({"busiest_share", busiest});
    }
    if (audit_.workers().beyond() != 0) {
      workers.state = FindingState::unknown;
      workers.detail +=
          fmt::format("; the workers of {} more are not looked at", counted(audit_.workers().beyond(), "ID"));
    }
    add(workers);
    for (std::size_t i = 0; i < std::min(all.size(), options_.examples); ++i) add_worker(*all[i]);
  }

  void add_worker(const WorkerUse& use) {
    const leaf::Layout& layout = *audit_.layout();
    const double part = share(use.count, in_layout());
    add({.name = "worker",
         .detail = fmt::format("{} ({}), {} to {}", counted(use.count, "ID"), percent(part),
                               format_rfc3339(layout.time_at(use.first_tick)),
                               format_rfc3339(layout.time_at(use.last_tick))),
         .subject = std::to_string(use.worker),
         .measures = {{"count", number(use.count)},
                      {"share", part},
                      {"repeats", number(use.repeats)},
                      {"sequence_back", number(use.sequence_back)},
                      {"steps_back", number(use.steps_back)},
                      {"longest_step_ms", std::int64_t{length(use.longest_step).count()}}}});
  }

  void add_shared_workers() {
    const bool tells = is_in_order_of_making();
    const auto shared = workers_that(
        [&](const WorkerUse& use) { return use.repeats != 0 || (tells && use.sequence_back != 0); });
    Finding finding{.name = "shared_workers", .measures = {{"count", number(shared.size())}}};
    if (shared.empty()) {
      finding.detail = "no worker seems to be shared by two hosts";
      if (!tells) {
        finding.state = FindingState::unknown;
        finding.detail = "the rows are not in the order in which IDs were made";
      } else if (audit_.was_ascending()) {
        finding.detail += ", as far as rows that are sorted by ID can show";
      }
      return add(finding);
    }
    const bool is_certain =
        std::ranges::any_of(shared, [](const WorkerUse* use) { return use->repeats != 0; });
    finding.state = is_certain ? FindingState::failed : FindingState::warning;
    finding.detail = fmt::format("{} {} like two hosts'", counted(shared.size(), "worker"),
                                 shared.size() == 1 ? "looks" : "look");
    add(finding);
    for (std::size_t i = 0; i < std::min(shared.size(), options_.examples); ++i) {
      const WorkerUse& use = *shared[i];
      std::string detail = use.repeats == 0 ? "" : fmt::format("{} repeated", counted(use.repeats, "row"));
      if (tells && use.sequence_back != 0) {
        detail += fmt::format("{}in one unit of time, {} not above the one before",
                              detail.empty() ? "" : "; ", counted(use.sequence_back, "sequence number"));
      }
      add({.name = "shared_worker",
           .state = use.repeats == 0 ? FindingState::warning : FindingState::failed,
           .detail = detail,
           .subject = std::to_string(use.worker),
           .measures = {{"repeats", number(use.repeats)}, {"sequence_back", number(use.sequence_back)}}});
    }
  }

  void add_clocks() {
    const auto stepped = workers_that([](const WorkerUse& use) { return use.steps_back != 0; });
    Finding finding{.name = "clocks",
                    .measures = {{"workers", number(stepped.size())},
                                 {"steps_back", number(sum_of(&WorkerUse::steps_back))}}};
    if (!is_in_order_of_making()) {
      finding.state = FindingState::unknown;
      finding.detail = "the rows are not in the order in which IDs were made";
      return add(finding);
    }
    if (stepped.empty()) {
      finding.detail = "no worker's time went back";
      return add(finding);
    }
    finding.state = FindingState::warning;
    finding.detail = fmt::format("the time of {} went back", counted(stepped.size(), "worker"));
    add(finding);
    for (std::size_t i = 0; i < std::min(stepped.size(), options_.examples); ++i) {
      const WorkerUse& use = *stepped[i];
      add({.name = "clock",
           .state = FindingState::warning,
           .detail = fmt::format("{} back, by up to {}", counted(use.steps_back, "step"),
                                 rough_duration(length(use.longest_step))),
           .subject = std::to_string(use.worker),
           .measures = {{"steps_back", number(use.steps_back)},
                        {"longest_step_ms", std::int64_t{length(use.longest_step).count()}}}});
    }
  }

  void add_rate() {
    const leaf::Layout& layout = *audit_.layout();
    const RateSeries& series = tally_.series();
    if (series.empty()) return;
    std::int64_t first = layout.max_ticks();
    std::int64_t last = 0;
    for (const WorkerUse& use : audit_.workers().workers()) {
      first = std::min(first, use.first_tick);
      last = std::max(last, use.last_tick);
    }
    const double seconds = std::chrono::duration<double>(length(last - first + 1)).count();
    const double average = static_cast<double>(in_layout()) / seconds;
    Finding rate{
        .name = "rate",
        .detail = fmt::format("{} a second on average, from {} to {}", rough_number(average),
                              format_rfc3339(layout.time_at(first)), format_rfc3339(layout.time_at(last))),
        .measures = {
            {"average", average}, {"first_unix_ms", unix_ms(first)}, {"last_unix_ms", unix_ms(last)}}};
    add(rate);
    if (tally_.second_peak().count != 0) add_peak("second", tally_.second_peak());
    if (tally_.unit_peak().count != 0) add_peak("unit", tally_.unit_peak());
  }

  std::int64_t unix_ms(std::int64_t tick) const {
    return audit_.layout()->time_at(tick).time_since_epoch().count();
  }

  void add_peak(const char* subject, const Peak& peak) {
    add({.name = "peak",
         .detail = fmt::format("{} at {}", counted(peak.count, "ID"),
                               format_rfc3339(audit_.layout()->time_at(peak.tick))),
         .subject = subject,
         .measures = {{"count", number(peak.count)}, {"unix_ms", unix_ms(peak.tick)}}});
  }

  void add_sequence() {
    const auto& sequences = audit_.spread().sequences();
    if (audit_.layout()->field("sequence") == nullptr) return;
    const auto used = std::ranges::find_if(sequences.rbegin(), sequences.rend(), std::identity{});
    const std::int64_t highest = sequences.rend() - used - 1;
    const double zero = share(sequences.front(), in_layout());
    add({.name = "sequence",
         .detail = fmt::format("{} of the IDs have sequence number 0, the highest is {} of {}", percent(zero),
                               highest == IdSpread::last_sequence ? "above " + std::to_string(highest - 1)
                                                                  : std::to_string(highest),
                               audit_.layout()->max_sequence()),
         .measures = {{"zero_share", zero}, {"highest", highest}}});
    // Halves of powers of two: 0, 1, 2 to 3, 4 to 7, and so on.
    for (std::size_t begin = 0, end = 1; begin < sequences.size(); begin = end, end *= 2) {
      std::uint64_t count = 0;
      for (std::size_t i = begin; i < std::min(end, sequences.size()); ++i) count += sequences[i];
      if (count == 0) continue;
      const double part = share(count, in_layout());
      const std::size_t last = std::min(end, sequences.size()) - 1;
      add({.name = "sequences",
           .detail = fmt::format("{} of the IDs", percent(part)),
           .subject = begin == last ? std::to_string(begin) : fmt::format("{}-{}", begin, last),
           .measures = {{"count", number(count)}, {"share", part}}});
    }
  }

  void add_shards() {
    const auto counts = audit_.spread().shards(reported_shards);
    const auto busiest = std::ranges::max_element(counts);
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    const double part = share(*busiest, sum);
    const bool is_skewed = sum >= enough_for_shards && part * reported_shards > skewed;
    add({.name = "shards",
         .state = is_skewed ? FindingState::warning : FindingState::ok,
         .detail = fmt::format("of {0} shards by ID modulo {0}, number {1} gets {2}", reported_shards,
                               busiest - counts.begin(), percent(part)),
         .measures = {{"shards", std::int64_t{reported_shards}}, {"busiest_share", part}}});
  }

  void add_gaps() {
    add({.name = "gaps",
         .detail = tally_.gaps() == 0 ? "none"
                                      : fmt::format("{} in {}", counted(tally_.missing(), "missing ID"),
                                                    counted(tally_.gaps(), "gap")),
         .measures = {{"count", number(tally_.gaps())}, {"missing", number(tally_.missing())}}});
    for (const Gap& gap : tally_.largest_gaps()) {
      add({.name = "gap",
           .detail = counted(gap.size, "ID"),
           .subject = fmt::format("{}-{}", gap.first, static_cast<std::uint64_t>(gap.first) + gap.size - 1),
           .measures = {{"size", number(gap.size)}}});
    }
  }

  void add_exhaustion() {
    Findings more;
    if (audit_.layout()) {
      more = layout_exhaustion(*audit_.layout(), tally_.greatest(), options_.now);
    } else if (audit_.is_dense()) {
      more = dense_exhaustion(tally_.least(), tally_.greatest(), options_.since, options_.now);
    }
    for (Finding& finding : more) add(std::move(finding));
  }

  const Audit& audit_;
  const ReportOptions& options_;
  const Tally& tally_;
  Findings findings_;
};

}  // namespace

Findings report(const Audit& audit, const ReportOptions& options) {
  return Reporter(audit, options).findings();
}

}  // namespace leafctl
