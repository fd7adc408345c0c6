#include <fmt/format.h>

#include <algorithm>

#include "cli/declaration.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "doctor/failover_record.hpp"
#include "leaf/detail/counted.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "terminal/confirmation.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

using State = leaf::FailoverTag::State;

std::int64_t count_of(const std::vector<leaf::FailoverTag>& tags, State state) {
  return std::ranges::count_if(
      tags, [&](const leaf::FailoverTag& tag) { return tag.state == state && !tag.is_removed; });
}

class FailoverSettle : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Ends the waits that began when the database's server changed. Tags leave out the guard now instead "
        "of at their next grant; workers are leased once every window is over that the server may have lost. "
        "Nothing repeats. PostgreSQL only.");
    command.add_flag(
        "--no-commits-lost", all_there_,
        "the server has all that the previous one committed, and no backup was restored: tags go on where "
        "they were, and workers are leased at once; asks on a terminal");
    command.add_flag(
        "--every-server", every_server_,
        "with --no-commits-lost: this applies to every server since the last grants, not only to the "
        "previous one");
    command.add_flag("--yes", yes_, "do not ask; required with --no-commits-lost where there is no terminal");
    command.add_examples(
        "No commits are lost in a switchover for which the old primary was stopped\n"
        "cleanly and the standby had received everything, or with a synchronous standby.\n"
        "If that is wrong, what the lost commits granted is granted again. Waits from an\n"
        "earlier failover remain, or leave out the guard.\n\n"
        "Prints what 'leafctl failover show' does, with the states left_out, kept (the\n"
        "tag goes on where it was) and no_room (the guard goes past the tag's limit, so\n"
        "that it grants nothing).\n\n"
        "Exit status: 5 if a tag has no room; all else is settled.\n\n"
        "Examples:\n"
        "  leafctl failover settle\n"
        "  leafctl failover settle --no-commits-lost --yes");
  }

  std::vector<std::string_view> setting_keys() const override { return {"group"}; }

  void run(Session& session) override {
    if (every_server_ && !all_there_)
      throw leaf::Error(leaf::ErrorCode::usage, "'--every-server' needs '--no-commits-lost'");
    leaf::Store store = session.store();
    const leaf::Failover seen = store.failover();
    const std::int64_t waiting = count_of(seen.tags, State::waiting);
    if (all_there_ && !yes_) ask(leaf::redact_url(session.settings().store), waiting, session.messages);
    const auto settled = store.settle_failover(seen, commits());
    const leaf::Failover now = store.failover();
    follow_store(session, store);
    FailoverRecords records = records_of(settled);
    records.push_back(record_of_workers(now));
    print(records, session.output);
    session.output.flush();
    report(settled, now, session.messages);
  }

 private:
  leaf::Commits commits() const {
    if (!all_there_) return leaf::Commits::may_be_lost;
    return every_server_ ? leaf::Commits::all_there_on_every_server : leaf::Commits::all_there;
  }

  void ask(const std::string& shown_store, std::int64_t waiting, Messages& messages) const {
    require_terminal_to_ask("settling a failover with --no-commits-lost", messages);
    require_yes(
        fmt::format("go on without the guard in store '{}', with {} and all workers? If {}commits were lost,"
                    " or a backup was restored, IDs repeat",
                    shown_store, leaf::detail::counted(waiting, "tag"), every_server_ ? "any server's " : ""),
        "nothing was settled", messages);
  }

  void report(const std::vector<leaf::FailoverTag>& settled, const leaf::Failover& now,
              Messages& messages) const {
    const auto tell = [&](State state, const char* what) {
      const std::int64_t count = count_of(settled, state);
      if (count > 0) messages.info(fmt::format("{} {}", leaf::detail::counted(count, "tag"), what));
    };
    tell(State::left_out, "left out the guard");
    tell(State::kept, "left out nothing");
    messages.info(
        now.leases_from
            ? fmt::format(
                  "workers are leased from {} on; until then, hosts with an open window continue, unless the "
                  "tables were restored",
                  leaf::detail::format_rfc3339(*now.leases_from))
            : "workers are leased");
    const std::int64_t without_room = count_of(settled, State::no_room);
    if (all_there_ && (now.leases_from || count_of(settled, State::left_out) + without_room > 0)) {
      messages.info(
          "an earlier server may have lost commits; if none has since the last grants, add '--every-server'");
    }
    if (without_room == 0) return;
    throw leaf::Error(
        leaf::ErrorCode::refused,
        fmt::format("{} of {} tags have no room for the guard below their limit", without_room,
                    settled.size()),
        "raise it with 'leafctl tags update TAG --limit ID', so that they draw IDs, or remove those that "
        "have no limit"_hint);
  }

  bool all_there_ = false;
  bool every_server_ = false;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_failover_settle() {
  return std::make_unique<FailoverSettle>();
}

}  // namespace leafctl
