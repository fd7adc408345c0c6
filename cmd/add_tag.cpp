#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "tags/granted_marks.hpp"
#include "tags/tag_limit.hpp"
#include "tags/tag_record.hpp"

namespace leafctl {

namespace {

bool exists(leaf::Store& store, const leaf::TagName& name) {
  try {
    store.tag(name);
    return true;
  } catch (const leaf::Error& error) {
    if (error.code() == leaf::ErrorCode::not_found) return false;
    throw;
  }
}

class AddTag : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Adds a tag: an independent sequence of IDs. Adding it again with the same values does nothing.");
    command.add_new_tag_argument(name_, "its name: 1 to 128 characters of A-Z a-z 0-9 . _ : -");
    command.add_integer_option("--step", "N", step_, {1, leaf::max_step},
                               fmt::format("IDs that a host takes at once, 1 to {} (default: {})",
                                           leaf::max_step, leaf::default_step));
    command.add_integer_option("--start", "ID", start_, {0, leaf::past_max_id}, "the first ID (default: 1)");
    command.add_text_option("--limit", "ID|none", limit_,
                            fmt::format("the last ID it may give, up to {} (default: none)", leaf::max_id));
    command.add_text_option("--description", "TEXT", description_, "what it is for, up to 256 characters");
    command.add_examples(
        "Examples:\n"
        "  leafctl add-tag order\n"
        "  leafctl add-tag invoice --start 1000 --step 100 --description 'since 2024'");
  }

  std::vector<std::string_view> setting_keys() const override { return {"group"}; }

  void run(Session& session) override {
    const auto limit = limit_ ? parse_limit(*limit_, start_ == 0 ? 0 : 1) : std::nullopt;
    warn_of_missing_marks(session);
    leaf::Store store = session.store();
    // Only the message depends on it; the store itself settles who adds a tag.
    const bool existed = exists(store, *name_);
    const leaf::Tag tag = store.add_tag({*name_, step_, start_, limit, description_});
    follow_store(session, store);
    if (existed) {
      session.messages.info(fmt::format("tag '{}' already exists: {}", tag.name, describe(tag)));
    } else {
      session.messages.info(fmt::format("added tag '{}': {}", tag.name, describe(tag, "first ID")));
    }
    if (session.output.format() == OutputFormat::json) session.output.print_one(tag_columns, tag);
  }

 private:
  std::optional<leaf::TagName> name_;
  std::optional<std::int64_t> step_;
  std::optional<std::int64_t> start_;
  std::optional<std::string> limit_;
  std::optional<std::string> description_;
};

}  // namespace

std::unique_ptr<Command> make_add_tag() {
  return std::make_unique<AddTag>();
}

}  // namespace leafctl
