#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "tags/buffered_ids.hpp"
#include "tags/meant_tag.hpp"
#include "tags/tag_limit.hpp"
#include "tags/tag_record.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

class TagsUpdate : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Changes a tag. Options not given are unchanged. Hosts pick up the change at their next grant.");
    command.add_tag_argument(name_, "the tag to change");
    command.add_integer_option("--step", "N", change_.step, {1, leaf::max_step},
                               fmt::format("IDs that a host takes at once, 1 to {}", leaf::max_step));
    command.add_text_option("--limit", "ID|none", limit_,
                            fmt::format("the last ID it may give, up to {}, or none", leaf::max_id));
    command.add_text_option("--description", "TEXT", change_.description,
                            "what it is for, up to 256 characters");
    command.add_integer_option("--raise-to", "ID", change_.raise_to, {0, leaf::past_max_id},
                               "raise the next ID to at least this one; never lowers it");
    command.add_examples(
        "Examples:\n"
        "  leafctl tags update order --step 5000\n"
        "  leafctl tags update order --limit none --raise-to 1000000");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    if (limit_) {
      change_.limit = parse_limit(*limit_);
      change_.remove_limit = !change_.limit;
    }
    if (!changes_anything()) {
      throw leaf::Error(leaf::ErrorCode::usage, "nothing to change",
                        "name '--step', '--limit', '--description' or '--raise-to'"_hint);
    }
    leaf::Store store = session.store();
    const leaf::Tag tag = on_tag(*name_, session, [&] { return store.update_tag(*name_, change_); });
    if (change_.raise_to) {
      drop_buffered_ids(store, {{*name_, *change_.raise_to}}, session);
    } else {
      follow_store(session, store);
    }
    session.messages.info(fmt::format("updated tag '{}': {}", tag.name, describe(tag)));
    if (session.output.format() == OutputFormat::json) session.output.print_one(tag_columns, tag);
  }

 private:
  bool changes_anything() const {
    return change_.step || change_.limit || change_.remove_limit || change_.description || change_.raise_to;
  }

  std::optional<leaf::TagName> name_;
  std::optional<std::string> limit_;
  leaf::TagChange change_;
};

}  // namespace

std::unique_ptr<Command> make_tags_update() {
  return std::make_unique<TagsUpdate>();
}

}  // namespace leafctl
