#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "tags/buffered_ids.hpp"
#include "tags/meant_tag.hpp"
#include "tags/tag_record.hpp"
#include "terminal/confirmation.hpp"

namespace leafctl {

namespace {

constexpr Column<leaf::TagName> removed_columns[] = {
    {"tag", [](const leaf::TagName& tag) -> Cell { return tag.str(); }},
    {"action", [](const leaf::TagName&) -> Cell { return "removed"; }},
};

class TagsRemove : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Removes a tag, after asking on a terminal. Its IDs stay used: a tag added later under this name "
        "goes on where it ended.");
    command.add_tag_argument(name_, "the tag to remove");
    command.add_flag("--yes", yes_, "do not ask; required where there is no terminal");
    command.add_examples(
        "Example:\n"
        "  leafctl tags remove order --yes");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    leaf::Store store = session.store();
    const auto drop = [&] { return drop_buffered_ids(store, {{*name_, leaf::past_max_id}}, session); };
    bool was_gone = false;
    on_tag(*name_, session, [&] {
      try {
        if (!yes_) ask(store, session.messages);
        store.remove_tag(*name_);
      } catch (const leaf::Error& error) {
        // Whoever removed it may not have come to this.
        was_gone = error.code() == leaf::ErrorCode::not_found && drop() > 0;
        if (!was_gone) throw;
      }
    });
    if (!was_gone) drop();
    session.messages.info(
        was_gone
            ? fmt::format("tag '{}' had been removed; discarded what this host had buffered", name_->str())
            : fmt::format("removed tag '{}'", name_->str()));
    if (session.output.format() == OutputFormat::json) session.output.print_one(removed_columns, *name_);
  }

 private:
  void ask(leaf::Store& store, Messages& messages) const {
    require_terminal_to_ask(fmt::format("removing tag '{}'", name_->str()), messages);
    const leaf::Tag tag = store.tag(*name_);
    require_yes(fmt::format("remove tag '{}' ({})?", tag.name, describe(tag)),
                fmt::format("tag '{}' was not removed", tag.name), messages);
  }

  std::optional<leaf::TagName> name_;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tags_remove() {
  return std::make_unique<TagsRemove>();
}

}  // namespace leafctl
