#include <algorithm>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "doctor/failover_record.hpp"

namespace leafctl {

namespace {

class FailoverShow : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Shows what waits because the database's server changed, after a failover, a switchover or a "
        "restore, and what tags have left out because of that. Changes nothing. PostgreSQL only.");
    command.add_examples(
        "Prints kind (tag or workers), name, state, left_out_first, left_out_last, until\n"
        "and granted_by: the server that last changed a tag that waits.\n\n"
        "States:\n"
        "  waiting    a tag leaves out the guard at its next grant; workers are not\n"
        "             leased before until, or for a while after the first is asked for\n"
        "  left_out   the tag goes on after the IDs that it left out\n"
        "  leased     workers are leased\n\n"
        "Examples:\n"
        "  leafctl failover show\n"
        "  leafctl failover show -o json | jq -r 'select(.state == \"waiting\").name'");
  }

  void run(Session& session) override {
    leaf::Failover found = session.store().failover();
    std::erase_if(found.tags, [](const leaf::FailoverTag& tag) { return tag.is_removed; });
    FailoverRecords records = records_of(found.tags);
    records.push_back(record_of_workers(found));
    print(records, session.output);
    session.output.flush();
    const bool tags_wait = std::ranges::any_of(found.tags, [](const leaf::FailoverTag& tag) {
      return tag.state == leaf::FailoverTag::State::waiting;
    });
    session.messages.info(
        found.server.empty() ? "the database does not tell which server it is: no failover is noticed"
        : tags_wait          ? "the server has changed: 'leafctl failover settle' ends the wait of tags"
        : found.leases_wait  ? "the server has changed: workers wait, or if no commit was lost and no "
                               "backup restored, 'leafctl failover settle --no-commits-lost' ends their wait; "
                               "add '--every-server' if it has changed more than once"
                             : "nothing waits");
  }
};

}  // namespace

std::unique_ptr<Command> make_failover_show() {
  return std::make_unique<FailoverShow>();
}

}  // namespace leafctl
