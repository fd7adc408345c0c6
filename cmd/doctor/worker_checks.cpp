#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "doctor/supply_checks.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/detail/shell_word.hpp"
#include "text/hint.hpp"
#include "text/rough_duration.hpp"
#include "workers/worker_range.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

using leaf::Layout;
using leaf::UnixTime;
using leaf::Worker;
using leaf::WorkerRange;
using std::chrono::milliseconds;

constexpr auto year = std::chrono::duration_cast<milliseconds>(std::chrono::years(1));
/// The date alone.
constexpr std::size_t date_size = 10;

bool is_silent(const Worker& worker, const WorkerPolicy& policy) {
  return worker.silent_for >= policy.recycle_after;
}

/// Its window is over, and its holder neither gave it back nor asked for more.
bool may_be_dead(const Worker& worker, UnixTime now, const WorkerPolicy& policy) {
  return !worker.owner.empty() && worker.leased && worker.window_end <= now && is_silent(worker, policy) &&
         worker.owner != policy.owner;
}

/// Whether another owner gets it for the asking.
bool is_available(const Worker& worker, UnixTime now, const WorkerPolicy& policy) {
  return worker.window_end <= now && (worker.owner.empty() || is_silent(worker, policy));
}

std::string hint_behind(milliseconds distance, const std::string& owner, bool uses_host_buffer = true) {
  if (distance <= std::chrono::minutes(1)) return "wait until it has caught up, or set it right"_hint;
  if (!uses_host_buffer) {
    return fmt::format(
        "set it right; if it is right already, run 'leafctl workers release --worker-name {}', then start "
        "again whatever runs under that name"_hint,
        leaf::detail::shell_word(owner));
  }
  return fmt::format(
      "set it right; if it is right already, go on with 'leafctl workers release --worker-name {}'"_hint,
      leaf::detail::shell_word(owner));
}

/// Whether this host is refused for what it was leased and has made before.
std::optional<Check> check_own(const std::vector<Worker>& workers, const Layout& layout, UnixTime now,
                               const WorkerPolicy& policy) {
  milliseconds behind{};
  for (const Worker& worker : workers) {
    if (worker.owner != policy.owner) continue;
    const milliseconds lead = std::max(policy.max_backward, layout.unit()) + layout.unit();
    if (worker.renewed_at > now + policy.max_skew) behind = std::max(behind, worker.renewed_at - now);
    if (!worker.leased && worker.window_end > now + lead) behind = std::max(behind, worker.window_end - now);
  }
  if (behind == milliseconds::zero()) return std::nullopt;
  return Check{"clock",
               CheckState::failed,
               fmt::format("the store's clock is {} behind the last grant to '{}', so it is leased no worker",
                           rough_duration(behind), policy.owner),
               hint_behind(behind, policy.owner, policy.uses_host_buffer),
               policy.owner,
               {{"seconds_behind", seconds_of(behind)}}};
}

/// Workers that nobody gets for long, whoever frees them.
std::optional<Check> check_ahead(const std::vector<Worker>& workers, bool has_others) {
  std::vector<std::int64_t> ahead;
  UnixTime first = UnixTime::max();
  UnixTime last{};
  for (const Worker& worker : workers) {
    if (!worker.leased_ahead()) continue;
    ahead.push_back(worker.id);
    first = std::min(first, worker.window_end);
    last = std::max(last, worker.window_end);
  }
  if (ahead.empty()) return std::nullopt;
  std::string seen = ahead.size() == 1
                         ? fmt::format("worker {} was leased while a clock was ahead", ahead[0])
                         : fmt::format("{} workers were leased while a clock was ahead", ahead.size());
  seen += fmt::format(": nobody gets {} before {}", ahead.size() == 1 ? "it" : "any of them",
                      leaf::detail::format_rfc3339(first));
  if (last != first) seen += fmt::format(", and the last not before {}", leaf::detail::format_rfc3339(last));
  const std::string hint =
      has_others ? "others are used instead; 'leafctl workers list --state ahead' shows them"_hint
                 : "'leafctl workers list --state ahead' shows them; others that are no longer used can be "
                   "freed with 'leafctl workers recycle'"_hint;
  return Check{
      "workers", CheckState::warning, seen, hint, {}, {{"ahead", static_cast<std::int64_t>(ahead.size())}}};
}

constexpr const char* free_unused =
    "see 'leafctl workers list', and free those no longer used with 'leafctl workers recycle'"_hint;

/// What to do where none is free.
std::string how_to_get_one(const std::vector<Worker>& workers, const WorkerRange& range) {
  bool are_held = false;
  std::optional<UnixTime> first_given_back;
  for (const Worker& worker : workers) {
    if (!range.holds(worker.id)) continue;
    if (!worker.owner.empty()) {
      are_held = true;
    } else if (!worker.leased_ahead()) {
      first_given_back = std::min(first_given_back.value_or(worker.window_end), worker.window_end);
    }
  }
  if (!first_given_back) return free_unused;
  const std::string time = leaf::detail::format_rfc3339(*first_given_back);
  return are_held ? fmt::format(
                        "wait until {}, when the first that was freed can be leased; or see 'leafctl "
                        "workers list', and free those no longer used with 'leafctl workers recycle'"_hint,
                        time)
                  : fmt::format("nobody holds them: wait until {}, when the first is free"_hint, time);
}

Check check_free(const std::vector<Worker>& workers, const Layout& layout, const WorkerRange& range,
                 UnixTime now, const WorkerPolicy& policy) {
  const auto [total, available] = supply_of(workers, range, now, policy);
  const Measures measures{{"free", available}, {"total", total}};
  const bool has_own =
      std::ranges::any_of(workers, [&](const Worker& worker) { return worker.owner == policy.owner; });
  std::string seen = fmt::format("{} of {} workers are taken", total - available, total);
  if (!has_all_workers(range, layout)) {
    seen += fmt::format(", of the layout's {} this store leases {} to {}", layout.max_worker() + 1,
                        range.first, range.last);
  }
  const std::string hint = available == 0 ? how_to_get_one(workers, range) : free_unused;
  if (available == 0 && !has_own) return {"workers", CheckState::failed, seen, hint, {}, measures};
  constexpr std::int64_t share = 10;
  if (total >= share && available < total / share)
    return {"workers", CheckState::warning, fmt::format("{}: {} are free", seen, available), hint, {},
            measures};
  return {.name = "workers", .detail = seen, .measures = measures};
}

}  // namespace

WorkerPolicy worker_policy(const Settings& settings) {
  return {.owner = settings.worker_name,
          .pinned = settings.worker_id.worker_for(settings.worker_name),
          .recycle_after = settings.recycle_after,
          .max_skew = settings.max_skew,
          .max_backward = settings.max_backward,
          .uses_host_buffer = settings.host_buffer && !settings.runtime_dir.empty()};
}

WorkerSupply supply_of(const std::vector<Worker>& workers, const WorkerRange& range, UnixTime now,
                       const WorkerPolicy& policy) {
  const std::int64_t total = range.size();
  const auto taken = std::ranges::count_if(workers, [&](const Worker& worker) {
    return range.holds(worker.id) && !is_available(worker, now, policy);
  });
  return {.total = total, .free = std::max<std::int64_t>(total - taken, 0)};
}

Check layout_check(const Layout& layout, const std::optional<Layout>& expected, UnixTime now) {
  if (expected && *expected != layout) {
    return {
        "layout", CheckState::failed,
        fmt::format("the store's layout is '{}', but this host expects '{}'", layout.name(),
                    expected->name()),
        "name the right store or the right layout; 'leafctl show-config' shows where both come from"_hint};
  }
  const std::string name = fmt::format("layout '{}'", layout.name());
  if (now < layout.epoch()) {
    return {"layout", CheckState::failed,
            fmt::format("{} begins only at {}", name, leaf::detail::format_rfc3339(layout.epoch())),
            "set the clock right, or choose another layout with 'leafctl init-db --layout LAYOUT'"_hint};
  }
  const milliseconds left = layout.last_time() - now;
  const Measures measures{{"seconds_left", seconds_of(left)}};
  const std::string end = leaf::detail::format_rfc3339(layout.last_time()).substr(0, date_size);
  const char* hint =
      "go on in a new store with a layout that lasts; keep both kinds of IDs apart, they may be equal"_hint;
  if (left <= milliseconds::zero())
    return {
        "layout", CheckState::failed, fmt::format("the timestamps of {} ended on {}", name, end), hint, {},
        measures};
  if (left < year) {
    return {"layout",
            CheckState::warning,
            fmt::format("the timestamps of {} end on {}, in {}", name, end, rough_duration(left)),
            hint,
            {},
            measures};
  }
  return {.name = "layout",
          .detail = fmt::format("the timestamps of {} last until {}, {} years", name, end, left / year),
          .measures = measures};
}

Checks worker_checks(const std::vector<Worker>& workers, const Layout& layout, const WorkerRange& range,
                     UnixTime now, const WorkerPolicy& policy) {
  Checks checks{check_free(workers, layout, range, now, policy)};
  for (const Worker& worker : workers) {
    if (!may_be_dead(worker, now, policy)) continue;
    checks.push_back(
        {"workers",
         CheckState::warning,
         fmt::format("worker {} of '{}' was not given back, and silent for {}", worker.id, worker.owner,
                     rough_duration(worker.silent_for)),
         fmt::format("if its holder is gone, 'leafctl workers recycle {}' frees it"_hint, worker.id),
         std::to_string(worker.id),
         {{"seconds_silent", seconds_of(worker.silent_for)}}});
  }
  if (auto check = check_own(workers, layout, now, policy)) checks.push_back(*check);
  const bool has_others = supply_of(workers, range, now, policy).free > 0;
  if (auto check = check_ahead(workers, has_others)) checks.push_back(*check);
  return checks;
}

Checks window_checks(const std::vector<leaf::HostBuffer>& buffers, const leaf::StoreIdentity& store,
                     UnixTime now, const WorkerPolicy& policy) {
  Checks checks;
  for (const leaf::HostBuffer& buffer : buffers) {
    if (buffer.kind != leaf::HostBuffer::Kind::worker || !buffer.in_use) continue;
    if (!buffer.is_of(store)) continue;
    const milliseconds lead = buffer.window_begin - now;
    if (lead <= policy.max_backward) continue;
    // That of a worker which is pinned is named after both.
    const std::string owner = buffer.name.substr(0, buffer.name.find(' '));
    const CheckState state =
        buffer.name == buffer_name(policy.owner, policy.pinned) ? CheckState::failed : CheckState::warning;
    const Layout layout = Layout::parse(buffer.layout);
    if (lead <= layout.unit()) {
      checks.push_back(
          {"clock", state,
           fmt::format("no ID can be made for '{}' before the next unit of time of layout '{}' begins, in {}",
                       owner, layout.name(), rough_duration(lead)),
           "wait until then, or allow calls that much time with '--timeout'"_hint, owner});
      continue;
    }
    checks.push_back(
        {"clock",
         state,
         fmt::format(
             "this host's clock is {} behind what is buffered for the worker of '{}', so no ID is made",
             rough_duration(lead), owner),
         hint_behind(lead, owner),
         owner,
         {{"seconds_behind", seconds_of(lead)}}});
  }
  return checks;
}

}  // namespace leafctl
