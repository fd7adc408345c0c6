#include "commands.hpp"
#include "tag_record.hpp"

namespace leafctl {

namespace {

class TagsList : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description(
        "Lists all tags by name: tag, next_id (the first ID not yet granted), step, limit, updated, "
        "description. "
        "In a pipe: tab-separated, without a head.");
    app.footer(
        "Examples:\n"
        "  leafctl tags list\n"
        "  leafctl tags list -o json | jq -r .tag");
  }

  void run(Session& session) override {
    const std::vector<leaf::Tag> tags = session.store().tags();
    session.output.print_list(tag_columns, tags);
    if (tags.empty()) session.messages.info("no tags yet: add one with 'leafctl add-tag TAG'");
  }
};

}  // namespace

std::unique_ptr<Command> make_tags_list() {
  return std::make_unique<TagsList>();
}

}  // namespace leafctl
