#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "tags/granted_marks.hpp"
#include "tags/tag_csv.hpp"
#include "tags/tag_format.hpp"
#include "tags/tag_selection.hpp"
#include "tags/tag_yaml.hpp"
#include "tags/tags_behind.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

class TagsExport : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints tags as a file for 'leafctl tags import': to move them to another store, or to keep.");
    selection_.declare(command);
    format_.declare(command, "yaml");
    command.add_examples(
        "The file has each tag's next_id, the first ID not yet granted: it does not\n"
        "cover what is drawn afterwards. So stop drawing before you move, or IDs repeat.\n"
        "Removed tags are in it too, so that none begins lower in the other store.\n\n"
        "Exit status: 5, and no file, if the store has gone back, as far as this host\n"
        "can tell, or if a tag waits after a failover.\n\n"
        "Examples:\n"
        "  leafctl tags export >tags.yaml\n"
        "  leafctl tags export --format csv 'order*' >orders.csv\n"
        "  leafctl tags export | leafctl --store service=ids tags import -");
  }

  std::vector<std::string_view> setting_keys() const override { return {"group"}; }

  void run(Session& session) override {
    const TagFormat format = format_.format().value_or(TagFormat::yaml);
    warn_of_missing_marks(session);
    leaf::Store store = session.store();
    const auto tags = selection_.all_tags(store, session.messages);
    refuse(tags_behind(tags, store, [this](const std::string& tag) { return selection_.matches(tag); }),
           session.messages);
    session.output.print_text(format == TagFormat::yaml ? tags_as_yaml(tags) : tags_as_csv(tags));
    for (const leaf::Tag& tag : tags) warn_of_what_no_import_takes(tag, session.messages);
  }

 private:
  /// Where the file is imported, IDs that are in use would be granted again, by a store that knows nothing of
  /// them.
  static void refuse(const std::vector<leaf::Error>& behind, Messages& messages) {
    if (behind.empty()) return;
    if (behind.size() == 1) throw leaf::Error(behind.front());
    for (const leaf::Error& error : behind) messages.error(error);
    throw leaf::Error(
        leaf::ErrorCode::refused,
        fmt::format("{} tags would go on below what was granted, so nothing was exported", behind.size()));
  }

  /// A table that Leaf made may hold what no tag can be added with.
  static void warn_of_what_no_import_takes(const leaf::Tag& tag, Messages& messages) {
    try {
      static_cast<void>(leaf::TagName(tag.name));
    } catch (const leaf::Error& error) {
      messages.warning(fmt::format("{}: it cannot be imported", error.what()), "rename it in the file"_hint);
    }
    if (tag.step >= 1 && tag.step <= leaf::max_step) return;
    const bool is_high = tag.step > leaf::max_step;
    messages.warning(fmt::format("tag '{}' has step {}, {} than {}: it cannot be imported", tag.name,
                                 tag.step, is_high ? "more" : "less", is_high ? leaf::max_step : 1),
                     fmt::format("{} its step in the file"_hint, is_high ? "lower" : "raise"));
  }

  TagSelection selection_;
  TagFormatOption format_;
};

}  // namespace

std::unique_ptr<Command> make_tags_export() {
  return std::make_unique<TagsExport>();
}

}  // namespace leafctl
