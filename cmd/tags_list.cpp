#include "cli/declaration.hpp"
#include "commands.hpp"
#include "tags/tag_record.hpp"
#include "tags/tag_selection.hpp"

namespace leafctl {

namespace {

class TagsList : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Lists tags by name: tag, next_id (the first ID not yet granted), step, limit, updated "
        "(when somebody changed it), granted (when IDs were granted last), description. On a terminal times "
        "are relative to now; in a pipe they are exact, tab-separated, "
        "without a header.");
    selection_.declare(command);
    command.add_examples(
        "Examples:\n"
        "  leafctl tags list\n"
        "  leafctl tags list 'order*'\n"
        "  leafctl tags list -o json | jq -r .tag");
  }

  void run(Session& session) override {
    leaf::Store store = session.store();
    session.output.print_list(tag_columns, selection_.tags(store, session.messages));
  }

 private:
  TagSelection selection_;
};

}  // namespace

std::unique_ptr<Command> make_tags_list() {
  return std::make_unique<TagsList>();
}

}  // namespace leafctl
