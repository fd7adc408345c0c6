// What this host remembers of leases, which a store that was put back does not.

#include <fmt/format.h>

#include <string>

#include "layout/layout_text.hpp"
#include "leaf/store.hpp"
#include "store/store_impl.hpp"
#include "store/unix_time.hpp"
#include "store/worker_range.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using store::host_time;
using store::time_of;
using store::unix_ms;

/// For a store whose layout is `layout` where IDs have been made in that which `known` stands for.
Error other_layout(const Layout& layout, MarkHolder known) {
  std::string former;  // only its hash is known
  for (const KnownLayout& one : known_layouts()) {
    if (holder_of(one.text) == known) former = one.name;
  }
  return Error(
      ErrorCode::refused,
      fmt::format("the store has leased time in another layout than '{}' before: it was restored from a "
                  "backup, or an old standby took over",
                  layout.name()),
      advice("set the layout that its IDs have{}"_hint,
             Remedy{.kind = Remedy::Kind::set_layout, .name = former}));
}

}  // namespace

void Store::Impl::require_above_mark(const WorkerLease& lease, const FindSpare& spare) {
  const GrantMarks::Mark known = marks_->mark(lease.store.deployment, mark_of(lease.worker));
  const UnixTime mark = time_of(known.end);
  // What its own holder was leased, and has not used, it is leased again.
  if (lease.begin >= mark || known.holder == holder_of(lease.token)) return;
  throw leased_before(lease.worker, mark, spare);
}

Error Store::Impl::leased_before(std::int64_t worker, UnixTime until, const FindSpare& spare) {
  constexpr std::chrono::days longest_wait{2};
  const UnixTime now = host_time(clock());
  const bool is_clock_ahead = until > now + longest_wait;
  // Others may have been leased what the store has lost, too. They took the lowest numbers.
  auto other = spare(UnixTime{});
  if (!other && is_clock_ahead) other = spare(now);
  const Remedy take{.kind = Remedy::Kind::choose_worker, .number = other};
  Advice what_helps = "try again when that time has passed"_hint;
  if (other && is_clock_ahead) {
    what_helps = advice(
        "a clock was ahead then; if nobody else has used worker {} since the backup, take it in every call "
        "from now on{}"_hint,
        *other, take);
  } else if (other) {
    what_helps = advice(
        "try again when that time has passed; if nobody has used worker {} since the backup, go on at once "
        "by taking it{}"_hint,
        *other, take);
  } else if (is_clock_ahead && !store::pool_of(execute(&store::Sql::layout, {})).is_all) {
    what_helps = advice(
        "a clock was ahead then: wait until that time has passed, or have the store lease more workers{}, "
        "none of which another store leases"_hint,
        Remedy{Remedy::Kind::choose_worker_range});
  }
  return {ErrorCode::refused,
          fmt::format("the store has leased worker {} up to {} before: it was restored from a backup, or "
                      "an old standby took over",
                      worker, to_rfc3339(until)),
          what_helps};
}

void Store::Impl::require_known_layout(const std::string& deployment, const Layout& layout) {
  const GrantMarks::Mark known = marks_->mark(deployment, mark_of_layout);
  if (known.end != 0 && known.holder != holder_of(layout.text())) throw other_layout(layout, known.holder);
}

void Store::Impl::claim_window(const WorkerLease& lease, const FindSpare& spare) {
  // First: whoever ends in between has used no ID of it.
  const MarkHolder own_layout = holder_of(lease.layout->text());
  const MarkHolder known = marks_->settle(lease.store.deployment, mark_of_layout, own_layout);
  if (known != own_layout) throw other_layout(*lease.layout, known);
  const std::string subject = mark_of(lease.worker);
  const MarkHolder holder = holder_of(lease.token);
  if (!claim(lease.store, subject, {unix_ms(lease.begin), unix_ms(lease.end)}, holder))
    throw leased_before(lease.worker, time_of(marks_->highest(lease.store.deployment, subject)), spare);
}

}  // namespace leaf
