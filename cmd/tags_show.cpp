#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "tags/granted_marks.hpp"
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

  std::vector<std::string_view> setting_keys() const override { return {"group"}; }

  void run(Session& session) override {
    const leaf::Tag tag = on_tag(*name_, session, [&] { return look(session); });
    session.output.print_one(tag_columns, tag);
  }

 private:
  /// Whether the store has lost a tag only the record tells.
  leaf::Tag look(Session& session) const {
    try {
      return session.store().tag(*name_);
    } catch (const leaf::Error& error) {
      if (error.code() == leaf::ErrorCode::not_found) warn_of_missing_marks(session);
      throw;
    }
  }

  std::optional<leaf::TagName> name_;
};

}  // namespace

std::unique_ptr<Command> make_tags_show() {
  return std::make_unique<TagsShow>();
}

}  // namespace leafctl
