#include "simulation/mark_users.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "host/shared_state.hpp"
#include "leaf/host.hpp"
#include "simulation/actors.hpp"

namespace leaf::simulation {

namespace {

constexpr const char* deployment = "deployment";

bool overlap(Range one, Range another) {
  return std::max(one.lo, another.lo) < std::min(one.hi, another.hi);
}

/// A server that was started anew counts as another copy.
StoreIdentity identity(int copy, bool is_new_run) {
  return {.deployment = deployment,
          .copy = fmt::format("copy {}{}", copy, is_new_run ? " started anew" : "")};
}

}  // namespace

void MarkedGrants::note_loss(const Host& host, const std::shared_ptr<Inode>& file, bool is_cut) {
  if (file->size == 0) return;
  const auto& state = *reinterpret_cast<const host::SharedState*>(file->memory);
  const std::string subject = state.header.name;
  ++losses_[subject];
  for (const Process* const process : host.processes) {
    if (is_cut)
      outlived.erase({process, subject});
    else if (is_mapped(*process, file->memory))
      outlived[{process, subject}] = state.mark.highest.peek();
  }
  if (subject == mark_of_layout) asked_for_layout = 0;
  if (is_cut) cut_[subject] = file;
}

int MarkedGrants::losses_of(const std::string& subject) const {
  const auto cut = cut_.find(subject);
  if (cut != cut_.end() && cut->second->links > 0) return -1;
  const auto losses = losses_.find(subject);
  return losses == losses_.end() ? 0 : losses->second;
}

int MarkedGrants::calls_under_way() const {
  int under_way = 0;
  for (const auto& [process, count] : calls) under_way += process->is_dead ? 0 : count;
  return under_way;
}

MarkUser::MarkUser(MarkedGrants& grants, Process& process, Ledger& ledger, Log& log)
    : grants_(grants),
      process_(process),
      ledger_(ledger),
      log_(log),
      marks_(host_marks(host_options(false))) {}

void MarkUser::act() {
  switch (random().below(5)) {
    case 0:
      return claim_ids();
    case 1:
      return lease();
    case 2:
      return lease_alone();
    case 3:
      return settle_layout();
    default:
      return raise_and_look();
  }
}

template <typename Work>
auto MarkUser::asked(Work work, bool* is_alone) {
  struct InCall {
    int& calls;
    const std::uint64_t& begun;
    const std::uint64_t number;
    bool* is_alone;
    InCall(int& of, MarkedGrants& grants, bool* alone)
        : calls(++of), begun(grants.calls_begun), number(++grants.calls_begun), is_alone(alone) {
      if (is_alone != nullptr) *is_alone = grants.calls_under_way() == 1;
    }
    ~InCall() {
      --calls;
      if (is_alone != nullptr) *is_alone = *is_alone && begun == number;
    }
  };
  // Files are lost while nobody looks at them.
  Scheduler& scheduler = Scheduler::the();
  for (Time pause = microsecond; grants_.are_to_be_lost && pause < second; pause *= 2)
    scheduler.sleep_until(scheduler.now() + pause);
  const InCall call(grants_.calls[&process_], grants_, is_alone);
  return work();
}

void MarkUser::require(bool is_good, const char* what, const std::string& subject) {
  if (!is_good) ledger_.fail(fmt::format("process {}: {} of '{}'", process_.number, what, subject));
}

/// Whoever asks a store looks before; somebody may have looked long ago.
std::int64_t MarkUser::floor_of(const std::string& subject) {
  if (random().one_in(2)) return 0;
  const std::int64_t floor = asked([&] { return marks_->highest(deployment, subject); });
  // Only of a worker somebody gives back.
  const auto known = grants_.outlived.find({&process_, subject});
  if (known != grants_.outlived.end() && subject == mark_of(TagName("shared")))
    require(floor >= known->second, "what others were granted is forgotten with the folder", subject);
  return floor;
}

/// An operator has raised the copy to `floor`, if it was below.
Range MarkUser::granted_by(int copy, MarkedGrants::Subject& subject, std::int64_t floor) {
  std::int64_t& next = subject.next[static_cast<std::size_t>(copy)];
  const std::int64_t lo = std::max(next, floor);
  next = lo + random().between(1, 20);
  return {lo, next};
}

bool MarkUser::is_claimed(int copy, bool is_new_run, const std::string& subject, Range range,
                          MarkHolder holder, int& losses) {
  bool is_alone = false;
  const bool is_good = asked(
      [&] {
        losses = grants_.losses_of(subject);
        return marks_->claim(identity(copy, is_new_run), subject, range, holder);
      },
      &is_alone);
  require(!is_alone || !grants_.is_cut(subject), "a file that was cut is used on", subject);
  log_.note(is_good ? "claimed" : "refused", process_.number, range.lo, range.hi);
  log_.say("of", process_.number, fmt::format("{} by {} from {}", subject, holder, copy));
  return is_good;
}

/// Nobody else uses any of it. After files were lost a process knows by itself what it was granted, but not
/// what others were.
void MarkUser::use(const std::string& name, const MarkedGrants::Use& claimed) {
  MarkedGrants::Subject& subject = grants_.subjects[name];
  for (const MarkedGrants::Use& other : subject.uses) {
    const bool is_known =
        other.process == &process_ || (claimed.losses >= 0 && other.losses == claimed.losses);
    const bool is_same = claimed.holder != 0 && other.holder == claimed.holder;
    require(!is_known || is_same || !overlap(other.range, claimed.range), "two copies granted the same",
            name);
  }
  subject.uses.push_back(claimed);
}

/// What was granted; empty if it may not be used.
Range MarkUser::claim_and_use(bool is_new_run, const std::string& name, MarkHolder holder, bool& is_good) {
  MarkedGrants::Subject& subject = grants_.subjects[name];
  const int copy = static_cast<int>(random().below(MarkedGrants::copies));
  int losses = 0;
  const int given_back = subject.giving_back > 0 ? -1 : subject.given_back;
  const Range range = granted_by(copy, subject, floor_of(name));
  is_good = is_claimed(copy, is_new_run, name, range, holder, losses);
  if (is_good)
    use(name, {.range = range,
               .holder = holder,
               .process = &process_,
               .losses = losses,
               .is_marked = given_back == subject.given_back && subject.giving_back == 0});
  return range;
}

void MarkUser::claim_ids() {
  bool is_good = false;
  claim_and_use(false, mark_of(TagName("shared")), 0, is_good);
}

/// Whoever is refused gives back what the copy leased, and whoever is not, perhaps what is left.
void MarkUser::lease() {
  const std::string name = mark_of(std::int64_t{0});
  const MarkHolder holder = random().next() | 1;
  bool is_good = false;
  const Range range = claim_and_use(random().one_in(4), name, holder, is_good);
  if (is_good && random().one_in(2)) return;
  give_back(name, is_good ? random().between(range.lo, range.hi) : range.lo, holder);
  require_mark_of_others(name);
}

void MarkUser::give_back(const std::string& name, std::int64_t end, MarkHolder holder) {
  for (MarkedGrants::Use& use : grants_.subjects[name].uses) {
    if (use.holder == holder) use.range.hi = std::min(use.range.hi, std::max(use.range.lo, end));
  }
  MarkedGrants::Subject& subject = grants_.subjects[name];
  ++subject.giving_back;
  asked([&] { marks_->lower(deployment, name, end, holder); });
  --subject.giving_back;
  ++subject.given_back;
  log_.note("given back", process_.number, end);
  log_.say("of", process_.number, name);
}

void MarkUser::require_mark_of_others(const std::string& name) {
  int losses = 0;
  std::vector<MarkedGrants::Use> uses;
  const std::int64_t mark = asked([&] {
    losses = grants_.losses_of(name);
    uses = grants_.subjects[name].uses;
    return marks_->highest(deployment, name);
  });
  const auto& now = grants_.subjects[name].uses;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Range& used = now[i].range;
    // Whoever gives back what it was granted after a loss does not see what was granted before.
    if (!used.empty() && uses[i].is_marked && losses == 0 && uses[i].losses == 0)
      require(used.hi <= mark, "what others use lies above the mark", name);
  }
}

/// A worker that nobody else has: its holder is refused nothing, and what it gave back is free for the next.
void MarkUser::lease_alone() {
  const std::string name = mark_of(std::int64_t{1000} * process_.number + ++alone_);
  std::int64_t end = 1;
  int losses = 0;
  for (std::int64_t holders = random().between(1, 3); holders > 0; --holders) {
    const MarkHolder holder = random().next() | 1;
    std::vector<Range> windows;
    for (std::int64_t more = random().between(1, 3); more > 0; --more) {
      windows.push_back({end, end + random().between(2, 20)});
      end = windows.back().hi;
    }
    // Its threads may come to it in another order than the store has leased them.
    if (random().one_in(2)) std::ranges::reverse(windows);
    for (const Range window : windows)
      require(is_claimed(0, random().one_in(2), name, window, holder, losses), "nobody else has anything",
              name);
    end = random().between(std::min(windows.front().lo, windows.back().lo), end);
    give_back(name, end, holder);
    if (random().one_in(2)) give_back(name, end + random().between(1, 20), holder);  // more is not there
  }
}

/// All that make IDs at once make them in one layout.
void MarkUser::settle_layout() {
  const auto wished = static_cast<MarkHolder>(random().between(1, 3));
  int losses = 0;
  const MarkHolder found = asked([&] {
    losses = grants_.losses_of(mark_of_layout);
    ++grants_.asked_for_layout;
    return marks_->settle(deployment, mark_of_layout, wished);
  });
  log_.note("layout", process_.number, static_cast<std::int64_t>(wished), static_cast<std::int64_t>(found));
  // Who is the first after the file was lost tells the others what he knew.
  MarkHolder& told = grants_.told[&process_];
  const bool was_first = grants_.asked_for_layout == 1;
  if (was_first) {
    grants_.note_replaced(mark_of_layout);
    losses = grants_.losses_of(mark_of_layout);
  }
  const bool is_known_now = losses >= 0 && losses == grants_.losses_of(mark_of_layout);
  for (MarkedGrants::Settled& known : grants_.settled) {
    if (was_first && known.process == &process_ && known.layout == told) known.losses = losses;
    const bool is_known = known.process == &process_ || (is_known_now && known.losses == losses);
    require(found != wished || !is_known || known.layout == wished, "IDs are made in two layouts",
            mark_of_layout);
  }
  told = found == wished ? wished : 0;
  if (found == wished) grants_.settled.push_back({.layout = wished, .process = &process_, .losses = losses});
}

void MarkUser::raise_and_look() {
  const std::string name = mark_of_order(fmt::format("process {}", process_.number));
  if (random().one_in(2)) {
    const std::int64_t end = raised_ + random().between(1, 100);
    asked([&] { marks_->raise(deployment, name, end); });
    raised_ = end;
  }
  const std::int64_t known = raised_;
  require(asked([&] { return marks_->highest(deployment, name); }) >= known, "a mark was lowered", name);
}

}  // namespace leaf::simulation
