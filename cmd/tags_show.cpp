#include "cli/declaration.hpp"
#include "commands.hpp"
#include "tags/meant_tag.hpp"
#include "tags/tag_record.hpp"

namespace leafctl {

namespace {

class TagsShow : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Shows one tag: a line for each value on a terminal, else one line as 'tags list' prints it.");
    command.add_tag_argument(name_, "the tag to show");
    command.add_examples(
        "Examples:\n"
        "  leafctl tags show order\n"
        "  leafctl tags show order -o json");
  }

  void run(Session& session) override {
    const leaf::Tag tag = on_tag(*name_, session, [&] { return session.store().tag(*name_); });
    session.output.print_one(tag_columns, tag);
  }

 private:
  std::optional<leaf::TagName> name_;
};

}  // namespace

std::unique_ptr<Command> make_tags_show() {
  return std::make_unique<TagsShow>();
}

}  // namespace leafctl
